-- Claims of one answer that a person has before them after a task: those they could still be given,
-- and those they hold already. A lease that ends later comes later.
select count(*)
from annotation_tasks as t
where t.round_id = :round_id
    and t.run_id = :run_id
    and t.item_id = :item_id
    and t.task_id <> :task_id
    and (
        exists (
            select 1
            from annotation_slots as h
            join annotation_slots as m on m.task_id = :task_id and m.labeler = :labeler
            where h.task_id = t.task_id
                and h.labeler = :labeler
                and h.state = 'leased'
                and h.leased_until > m.leased_until
        )
        or (
            exists (
                select 1 from annotation_slots as s where s.task_id = t.task_id and s.state = 'open'
            )
            and not exists (
                select 1
                from annotation_slots as o
                where o.task_id = t.task_id and o.labeler = :labeler
            )
            and not exists (
                select 1
                from annotation_skips as k
                where k.task_id = t.task_id and k.labeler = :labeler
            )
        )
    )
