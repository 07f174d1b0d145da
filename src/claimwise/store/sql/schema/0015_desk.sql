-- Every save of the labelling desk, once however often it was sent: the page gives each an id of its own.
-- It also keeps whether the labeler took a suggested text (1 to 3), another one (0), or was offered none
-- (null), so that one can see how far suggestions steer labels.
create table annotation_saves (
    save_id text primary key,
    task_id text not null references annotation_tasks (task_id),
    labeler text not null,
    labeled_at timestamp not null,
    suggestion integer check (suggestion between 0 and 3),
    saved_at timestamp not null
);

-- How many claims a round was asked for, and why it has fewer; null where it has them all.
alter table annotation_rounds add column asked integer;
alter table annotation_rounds add column shortfall text;
