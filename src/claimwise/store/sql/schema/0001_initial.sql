-- The golden set, the runs over it, their claims, and the labels of those claims.
-- eval_items, gold_spans and run_actions have the columns of the measuring spec under its names;
-- the columns after them are ours. The spec's claim_labels is a view with one row per claim; all
-- labels are in the table labels.
-- SQLite keeps the larger tables in key order, which is how they are read. PostgreSQL has no such
-- clause, so it is written as a comment that the SQLite engine uncomments.

create table sources (
    source_id text not null,
    corpus_ver text not null,
    source_text text not null,
    title text,
    url text,
    valid_from date,
    valid_until date,
    superseded_by text,
    primary key (source_id, corpus_ver)
);

create table eval_items (
    item_id text primary key,
    query text not null,
    query_type text not null,
    answerable boolean not null,
    stakes text not null check (stakes in ('low', 'medium', 'high')),
    gold_answer text,
    source_corpus_ver text not null,
    domain text
);

create table item_attributes (
    item_id text not null references eval_items (item_id),
    name text not null,
    value text not null,
    primary key (item_id, name)
) /*sqlite without rowid */;

create table gold_spans (
    item_id text not null references eval_items (item_id),
    source_id text not null,
    span_text text not null,
    required boolean not null,
    span_start integer not null,
    span_end integer not null,
    primary key (item_id, source_id, span_start, span_end)
);

create table guide_versions (
    guide_version text primary key,
    guide_text text not null,
    created_at timestamp not null
);

create table labelers (
    labeler text primary key,
    labeler_kind text not null check (labeler_kind in ('human', 'verifier')),
    version text,
    model text,
    prompt_ver text
);

create table runs (
    run_id text primary key,
    system text not null,
    model text,
    prompt_ver text,
    retriever_ver text,
    corpus_ver text not null,
    started_at timestamp not null
);

create table answers (
    run_id text not null references runs (run_id),
    item_id text not null references eval_items (item_id),
    sample integer not null default 0,
    answer_text text,
    failure text,
    context_count integer,
    primary key (run_id, item_id, sample)
);

create table run_actions (
    run_id text not null references runs (run_id),
    item_id text not null references eval_items (item_id),
    action text not null check (action in ('answer', 'abstain', 'clarify')),
    sample integer not null default 0,
    primary key (run_id, item_id, sample)
) /*sqlite without rowid */;

create table contexts (
    run_id text not null,
    item_id text not null,
    sample integer not null default 0,
    position integer not null,
    source_id text not null,
    context_text text not null,
    span_start integer,
    span_end integer,
    score double precision,
    primary key (run_id, item_id, sample, position),
    foreign key (run_id, item_id, sample) references answers (run_id, item_id, sample)
);

create table action_log (
    run_id text not null,
    item_id text not null,
    sample integer not null default 0,
    entry_id text not null,
    entry_text text not null,
    logged_at timestamp,
    primary key (run_id, item_id, sample, entry_id),
    foreign key (run_id, item_id, sample) references answers (run_id, item_id, sample)
);

create table claims (
    run_id text not null,
    item_id text not null,
    claim_id text not null,
    sample integer not null default 0,
    position integer not null,
    claim_text text not null,
    claim_type text not null
        check (claim_type in ('factual', 'action', 'citation_required', 'non_factual')),
    unit text not null check (unit in ('atomic', 'sentence')),
    answer_start integer,
    answer_end integer,
    primary key (run_id, item_id, claim_id),
    foreign key (run_id, item_id, sample) references answers (run_id, item_id, sample)
) /*sqlite without rowid */;

create table citations (
    run_id text not null,
    item_id text not null,
    claim_id text not null,
    position integer not null,
    source_id text,
    marker text,
    span_text text,
    span_start integer,
    span_end integer,
    primary key (run_id, item_id, claim_id, position),
    foreign key (run_id, item_id, claim_id) references claims (run_id, item_id, claim_id)
) /*sqlite without rowid */;

create table labels (
    run_id text not null,
    item_id text not null references eval_items (item_id),
    claim_id text not null,
    claim_text text not null,
    claim_type text not null,
    verdict text not null
        check (verdict in ('supported', 'unlinked', 'overreach', 'contradicted', 'stale')),
    supporting_span text,
    source_id text,
    labeler text not null references labelers (labeler),
    labeled_at timestamp not null,
    label_kind text not null check (label_kind in ('adjudicated', 'human', 'verifier')),
    guide_version text references guide_versions (guide_version),
    span_start integer,
    confidence double precision,
    reason text,
    inclusion_probability double precision,
    primary key (run_id, item_id, claim_id, labeler, labeled_at),
    foreign key (run_id, item_id, claim_id) references claims (run_id, item_id, claim_id)
) /*sqlite without rowid */;

create table closed_book_labels (
    run_id text not null,
    item_id text not null,
    claim_id text not null,
    claim_text text not null,
    label text not null check (label in ('true', 'false', 'unverifiable', 'non_factual')),
    decision_basis text,
    labeler text not null references labelers (labeler),
    labeled_at timestamp not null,
    label_kind text not null check (label_kind in ('adjudicated', 'human', 'verifier')),
    primary key (run_id, item_id, claim_id, labeler, labeled_at),
    foreign key (run_id, item_id, claim_id) references claims (run_id, item_id, claim_id)
) /*sqlite without rowid */;

create table answer_labels (
    run_id text not null,
    item_id text not null,
    sample integer not null default 0,
    correct boolean not null,
    labeler text not null references labelers (labeler),
    labeled_at timestamp not null,
    label_kind text not null check (label_kind in ('adjudicated', 'human', 'verifier')),
    reason text,
    primary key (run_id, item_id, sample, labeler, labeled_at),
    foreign key (run_id, item_id, sample) references answers (run_id, item_id, sample)
) /*sqlite without rowid */;

create table unscored_claims (
    run_id text not null,
    item_id text not null,
    claim_id text not null,
    claim_text text not null,
    judgement text not null check (judgement in ('grounded', 'closed_book')),
    labeler text not null references labelers (labeler),
    failed_at timestamp not null,
    reason text not null,
    detail text,
    primary key (run_id, item_id, claim_id, judgement, labeler, failed_at),
    foreign key (run_id, item_id, claim_id) references claims (run_id, item_id, claim_id)
) /*sqlite without rowid */;
