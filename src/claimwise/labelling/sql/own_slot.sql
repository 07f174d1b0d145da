select s.slot, s.state, s.leased_until
from annotation_slots as s
where s.task_id = :task_id and s.labeler = :labeler
