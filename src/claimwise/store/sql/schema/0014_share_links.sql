-- Read-only links that show the overview of one system to anyone who has them, without a login, until
-- they expire or are revoked. Only the token's hash is stored.
create table share_links (
    link_id text primary key,
    token_hash text not null unique,
    system text not null,
    baseline text,
    note text not null,
    created_by text not null,
    created_at timestamp not null,
    expires_at timestamp not null,
    revoked_at timestamp,
    revoked_by text
);
