-- The runs that a round over a window of traffic draws from, and how many claims of each could be drawn.
-- Its row in annotation_rounds names the latest run.
create table annotation_round_runs (
    round_id text not null references annotation_rounds (round_id),
    run_id text not null references runs (run_id),
    claims integer not null,
    primary key (round_id, run_id)
) /*sqlite without rowid */;
create index annotation_round_runs_by_run on annotation_round_runs (run_id);
