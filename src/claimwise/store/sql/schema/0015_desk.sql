-- Every save of the labelling desk, stored once however often it was sent: the page gives each its own id.
-- It also records whether the labeler chose a suggested text (1 to 3) or another one (0), or was offered
-- none (null), to show how much suggestions influence labels.
create table annotation_saves (
    save_id text primary key,
    task_id text not null references annotation_tasks (task_id),
    labeler text not null,
    labeled_at timestamp not null,
    suggestion integer check (suggestion between 0 and 3),
    saved_at timestamp not null
);

-- How many claims were requested for a round, and why it has fewer; null if it has them all.
alter table annotation_rounds add column asked integer;
alter table annotation_rounds add column shortfall text;
