-- What became of gates, one row per gate and time that it was applied: nothing is ever changed here.
-- Inputs are what it was decided by (the gate's settings, its metric, the labels at that moment),
-- and the decision is whole, slice by slice, so that an old result can be understood and repeated.
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
