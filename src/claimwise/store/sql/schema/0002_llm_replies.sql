-- Replies of language models, kept so that no question is paid for twice. The key is a hash over
-- everything that was asked; only whole replies are here, failures never are.

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
