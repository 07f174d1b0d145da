-- Live traffic. Its answers are ordinary rows of answers, in runs without golden items: one run per
-- system, its versions and UTC day. This table adds what only traffic has: when an answer was given,
-- which sampling rule chose it, and with what probability.
create table traffic_answers (
    run_id text not null,
    item_id text not null,
    sample integer not null default 0,
    trace_id text not null,
    system text not null,
    answered_at timestamp not null,
    received_at timestamp not null,
    conversation text,
    rule text not null,
    inclusion_probability double precision not null,
    text_deleted_at timestamp,
    primary key (run_id, item_id, sample),
    foreign key (run_id, item_id, sample) references answers (run_id, item_id, sample)
);
create unique index traffic_answers_by_trace on traffic_answers (system, trace_id);
create index traffic_answers_by_time on traffic_answers (answered_at);

-- Every answer ever received, by the id of its trace, and what happened to it, so that an answer sent
-- again is recognised even if sampling left it out.
create table traffic_seen (
    system text not null,
    trace_id text not null,
    day date not null,
    rule text not null,
    outcome text not null,
    reason text not null default '',
    inclusion_probability double precision not null,
    primary key (system, trace_id)
) /*sqlite without rowid */;
create index traffic_seen_by_trace on traffic_seen (trace_id);

-- Spans that were acknowledged but are not yet an answer. They survive a crash. A trace is processed once
-- its root span has arrived and nothing more comes, or once it has waited long enough.
create table traffic_inbox (
    entry_id text primary key,
    trace_id text not null,
    received_at timestamp not null,
    has_root boolean not null,
    spans integer not null,
    payload text not null
);
create index traffic_inbox_by_trace on traffic_inbox (trace_id);
create index traffic_inbox_by_time on traffic_inbox (received_at);

-- The funnel up to the store: how many answers came in per day, and what happened to them. Judged,
-- scored and unscored ones are counted from the claims.
create table traffic_counts (
    day date not null,
    system text not null,
    rule text not null,
    outcome text not null,
    reason text not null default '',
    answers integer not null,
    primary key (day, system, rule, outcome, reason)
);

-- Keys of programs, as hashes: for the endpoint that receives traces and for the online check.
create table api_keys (
    key_id text primary key,
    key_hash text not null unique,
    name text not null,
    scopes text not null,
    requests_per_minute integer,
    created_by text not null,
    created_at timestamp not null,
    expires_at timestamp,
    revoked_at timestamp
);

-- Alarms of the monitor, each with the figures it rests on. They never change, except to be closed.
create table alarms (
    alarm_id text primary key,
    signal text not null,
    system text not null,
    slice text not null default '',
    raised_at timestamp not null,
    window_from timestamp not null,
    window_until timestamp not null,
    evidence text not null,
    closed_at timestamp,
    closed_by text,
    resolution text
);
create index alarms_by_time on alarms (raised_at);

-- What the monitor has read, one row per signal, system, group and window. An alarm's statistic
-- continues from the previous row, so reading the same day again changes nothing.
create table monitor_points (
    signal text not null,
    system text not null,
    slice text not null default '',
    window_from timestamp not null,
    window_until timestamp not null,
    computed_at timestamp not null,
    value double precision,
    statistic double precision,
    evidence text not null,
    primary key (signal, system, slice, window_from, window_until)
);

-- Messages to a webhook: written with the alarm, sent afterwards, and kept until they arrive.
create table webhook_deliveries (
    delivery_id text primary key,
    alarm_id text not null references alarms (alarm_id),
    url text not null,
    body text not null,
    attempts integer not null default 0,
    next_attempt_at timestamp,
    delivered_at timestamp,
    last_error text
);
