-- Who passed on a task, and why.
select k.labeler, k.reason
from annotation_skips as k
where k.task_id = :task_id
order by k.skipped_at, k.labeler
