-- Cached replies of language models, so that no request is paid for twice. The key is a hash of the
-- whole request. Only complete replies are stored, never failures.

create table llm_replies (
    key text primary key,
    model text not null,
    prompt text not null,
    served_by text not null,
    reply text not null,
    input_tokens integer,
    output_tokens integer,
    created_at timestamp not null
);
