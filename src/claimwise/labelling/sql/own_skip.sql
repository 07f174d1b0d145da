select k.reason
from annotation_skips as k
where k.task_id = :task_id and k.labeler = :labeler
