-- The tasks that a person labelled or passed on last in a round.
select d.task_id
from (
    select s.task_id, s.labeled_at as done_at
    from annotation_slots as s
    where s.round_id = :round_id and s.labeler = :labeler and s.labeled_at is not null
    union all
    select k.task_id, k.skipped_at as done_at
    from annotation_skips as k
    cross join annotation_tasks as t  -- few are skipped: start from those
    where t.task_id = k.task_id
        and t.round_id = :round_id
        and k.labeler = :labeler
        and not exists (
            select 1
            from annotation_slots as o
            where o.task_id = k.task_id and o.labeler = :labeler
        )
) as d
order by d.done_at desc
limit :wanted
