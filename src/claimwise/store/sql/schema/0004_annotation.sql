-- People: their accounts and sessions, the rounds they label in, and how judges compare with their
-- labels. Passwords, session tokens and invite tokens are stored only as hashes.

alter table labels add column covered_text text;
alter table closed_book_labels add column guide_version text references guide_versions (guide_version);
alter table closed_book_labels add column inclusion_probability double precision;

-- A retracted label. The label itself stays, because labels are never overwritten.
create table label_retractions (
    run_id text not null,
    item_id text not null,
    claim_id text not null,
    judgement text not null check (judgement in ('grounded', 'closed_book')),
    labeler text not null references labelers (labeler),
    labeled_at timestamp not null,
    retracted_at timestamp not null,
    retracted_by text not null,
    primary key (run_id, item_id, claim_id, judgement, labeler, labeled_at),
    foreign key (run_id, item_id, claim_id) references claims (run_id, item_id, claim_id)
) /*sqlite without rowid */;

create table accounts (
    account text primary key,
    role text not null check (role in ('admin', 'adjudicator', 'labeler')),
    password_hash text not null,
    created_at timestamp not null,
    disabled_at timestamp
);

create table invites (
    token_hash text primary key,
    role text not null check (role in ('admin', 'adjudicator', 'labeler')),
    account text,
    invited_by text not null,
    created_at timestamp not null,
    expires_at timestamp not null,
    used_at timestamp
);

create table sessions (
    token_hash text primary key,
    account text not null references accounts (account),
    csrf_token text not null,
    created_at timestamp not null,
    expires_at timestamp not null
);

create table login_failures (
    failure_id text primary key,
    account text not null,
    address text not null,
    failed_at timestamp not null
);
create index login_failures_by_time on login_failures (failed_at);

-- Who did what in the app. Rows are added, never changed.
create table audit_events (
    event_id text primary key,
    happened_at timestamp not null,
    account text,
    event text not null,
    subject text,
    detail text
);
create index audit_events_by_time on audit_events (happened_at);

-- A round: a sample of one run's claims, drawn once, for people to label.
create table annotation_rounds (
    round_id text primary key,
    run_id text not null references runs (run_id),
    judgement text not null check (judgement in ('grounded', 'closed_book')),
    title text not null,
    guide_version text not null references guide_versions (guide_version),
    strata_by text references labelers (labeler),
    overlap double precision not null,
    overlap_labels integer not null,
    seed integer not null,
    created_by text not null,
    created_at timestamp not null,
    closed_at timestamp
);

create table annotation_strata (
    round_id text not null references annotation_rounds (round_id),
    stratum text not null,
    claims integer not null,
    chosen integer not null,
    primary key (round_id, stratum)
) /*sqlite without rowid */;

create table annotation_tasks (
    task_id text primary key,
    round_id text not null references annotation_rounds (round_id),
    position integer not null,
    run_id text not null,
    item_id text not null,
    claim_id text not null,
    stratum text not null,
    inclusion_probability double precision not null,
    wanted integer not null,
    foreign key (run_id, item_id, claim_id) references claims (run_id, item_id, claim_id)
);
create unique index annotation_tasks_by_position on annotation_tasks (round_id, position);
create unique index annotation_tasks_by_claim on annotation_tasks (round_id, run_id, item_id, claim_id);

-- A slot for one label of a task. A lease expires by itself, so nothing is lost if someone leaves.
create table annotation_slots (
    task_id text not null references annotation_tasks (task_id),
    slot integer not null,
    round_id text not null references annotation_rounds (round_id),
    position integer not null,
    state text not null check (state in ('open', 'leased', 'done')),
    labeler text,
    leased_until timestamp,
    labeled_at timestamp,
    seconds double precision,
    primary key (task_id, slot)
);
create index annotation_slots_by_state on annotation_slots (round_id, state, position);
create unique index annotation_slots_by_labeler on annotation_slots (task_id, labeler);
create index annotation_slots_by_person on annotation_slots (round_id, labeler, labeled_at);

create table annotation_skips (
    task_id text not null references annotation_tasks (task_id),
    labeler text not null,
    reason text not null,
    skipped_at timestamp not null,
    primary key (task_id, labeler)
);

-- A calibration: how well one judge matches people's labels in one domain, and until when it counts.
create table calibrations (
    calibration_id text primary key,
    labeler text not null references labelers (labeler),
    judgement text not null check (judgement in ('grounded', 'closed_book')),
    prompt_ver text,
    model text,
    slice text not null,
    status text not null check (status in ('trusted', 'not trusted', 'unknown')),
    claims integer not null,
    items integer not null,
    agreement double precision,
    agreement_low double precision,
    kappa double precision,
    kappa_low double precision,
    human_kappa double precision,
    detail text not null,
    made_at timestamp not null,
    expires_at timestamp not null
);
create index calibrations_by_labeler on calibrations (labeler, judgement, made_at);
