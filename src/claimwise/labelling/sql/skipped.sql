-- Tasks of a round that someone passed on and nobody has labelled.
select count(distinct k.task_id) as tasks
from annotation_skips as k
cross join annotation_tasks as t  -- few are skipped: start from those
where t.task_id = k.task_id
    and t.round_id = :round_id
    and not exists (
        select 1 from annotation_slots as s where s.task_id = k.task_id and s.state = 'done'
    )
