-- Live traffic. Its answers are rows of answers like any other, in runs that have no golden items: one
-- run per system, its versions and UTC day. What only traffic has stands here: when an answer was
-- given, which sampling rule took it, and with what probability.
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

-- Every answer that ever came in, by the id of its trace alone, and what became of it: so that one that
-- comes again is known, also where sampling left it out.
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

-- Spans that are acknowledged and not yet an answer: what is here survives a crash. A trace is taken
-- from here once its root span has come and nothing more, or once it has waited long enough.
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

-- The funnel up to the store: how many answers a day came in, and what became of them. Judged, scored
-- and unscored ones are counted from the claims themselves.
create table traffic_counts (
    day date not null,
    system text not null,
    rule text not null,
    outcome text not null,
    reason text not null default '',
    answers integer not null,
    primary key (day, system, rule, outcome, reason)
);

-- Keys of programs, as hashes: for the endpoint that takes traces and for the online check.
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

-- Alarms of the monitor, each with the figures it rests on; nothing but their closing is ever changed.
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

-- What the monitor has seen, one row per signal, system, slice and window: an alarm's statistic goes
-- on from the row before it, so that a second look at the same day changes nothing.
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
