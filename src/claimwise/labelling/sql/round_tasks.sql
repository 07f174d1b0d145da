-- The tasks of a round in order.
select t.task_id
from annotation_tasks as t
where t.round_id = :round_id
order by t.position
