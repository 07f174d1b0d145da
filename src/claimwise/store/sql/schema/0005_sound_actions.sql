-- SQLite 3.40 reports damage that isn't there: for a table without rowid whose last column belongs to
-- the key, `pragma integrity_check` says "NULL value in run_actions.action" for each row. This makes it
-- an ordinary table. The data stay the same, and so does PostgreSQL's table.

/*sqlite
create temporary table run_actions_before (run_id text, item_id text, action text, sample integer);
insert into run_actions_before (run_id, item_id, action, sample)
select run_id, item_id, action, sample from run_actions;
drop table run_actions;
create table run_actions (
    run_id text not null references runs (run_id),
    item_id text not null references eval_items (item_id),
    action text not null check (action in ('answer', 'abstain', 'clarify')),
    sample integer not null default 0,
    primary key (run_id, item_id, sample)
);
insert into run_actions (run_id, item_id, action, sample)
select run_id, item_id, action, sample from run_actions_before;
*/
drop table if exists run_actions_before;
