-- The items that others are on.
select distinct t.item_id
from annotation_slots as s
join annotation_tasks as t on t.task_id = s.task_id
where s.round_id = :round_id
    and s.state = 'leased'
    and s.labeler <> :labeler
    and s.leased_until >= :now
