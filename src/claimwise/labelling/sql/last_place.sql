-- Where a person is in a round: the item of the task that they leased, labelled or passed on last,
-- and the position before that item's first task.
select
    t.item_id,
    (
        select min(f.position + 0)  -- of the item's few tasks, not by the index of the round's
        from annotation_tasks as f
        where f.round_id = t.round_id and f.run_id = t.run_id and f.item_id = t.item_id
    ) - 1 as before_item
from (
    select a.task_id, a.seen_at
    from (
        select s.task_id, s.leased_until as seen_at
        from annotation_slots as s
        where s.round_id = :round_id
            and s.state = 'leased'
            and coalesce(s.labeler, '') = :labeler
        order by s.leased_until desc
        limit 1
    ) as a
    union all
    select b.task_id, b.seen_at
    from (
        select s.task_id, s.labeled_at as seen_at
        from annotation_slots as s
        where s.round_id = :round_id and s.labeler = :labeler and s.labeled_at is not null
        order by s.labeled_at desc
        limit 1
    ) as b
    union all
    select c.task_id, c.seen_at
    from (
        select k.task_id, k.skipped_at as seen_at
        from annotation_skips as k
        cross join annotation_tasks as q  -- few are skipped: start from those
        where q.task_id = k.task_id and q.round_id = :round_id and k.labeler = :labeler
        order by k.skipped_at desc
        limit 1
    ) as c
) as p
join annotation_tasks as t on t.task_id = p.task_id
order by p.seen_at desc
limit 1
