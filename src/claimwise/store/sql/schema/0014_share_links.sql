-- Links that show the overview of one system to whoever has them, without a login: read-only, until
-- they expire or are revoked. The token itself is not kept, only its hash.
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
