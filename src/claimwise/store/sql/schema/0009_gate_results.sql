-- Results of gates, one row each time a gate is applied. Rows are never changed. The inputs are what
-- decided it (the gate's settings, its metric, the labels at that moment), and the decision is stored
-- in full, group by group, so that an old result can be understood and reproduced.
create table gate_results (
    event_id text primary key,
    decided_at timestamp not null,
    gate text not null,
    run_id text not null references runs (run_id),
    baseline_id text,
    outcome text not null check (outcome in ('pass', 'fail', 'inconclusive')),
    blocks boolean not null,
    version text not null,
    inputs text not null,
    decision text not null
);

create index gate_results_by_time on gate_results (decided_at);
