-- Wrong answers from production, each turned into an item; and tasks for labelers. An incident's
-- answer and claims belong to no run, so no metric counts them.

create table incidents (
    incident_id text primary key,
    item_id text not null references eval_items (item_id),
    origin text not null check (origin in ('trace', 'answer')),
    place text not null,
    answer_text text not null,
    trace_id text,
    model text,
    happened_at timestamp,
    feedback text,
    promoted_by text not null,
    promoted_at timestamp not null
);

create table incident_claims (
    incident_id text not null references incidents (incident_id),
    position integer not null,
    claim_text text not null,
    claim_type text not null
        check (claim_type in ('factual', 'action', 'citation_required', 'non_factual')),
    wrong boolean,
    verdict text
        check (verdict in ('supported', 'unlinked', 'overreach', 'contradicted', 'stale')),
    labeler text not null,
    reason text,
    primary key (incident_id, position)
);

create table incident_contexts (
    incident_id text not null references incidents (incident_id),
    position integer not null,
    source_id text not null,
    context_text text,
    primary key (incident_id, position)
);

create table annotation_queue (
    entry_id text primary key,
    task text not null check (task in ('gold_spans', 'label')),
    item_id text not null references eval_items (item_id),
    run_id text,
    claim_id text,
    reason text not null,
    priority integer not null,
    added_at timestamp not null,
    done_at timestamp
);
