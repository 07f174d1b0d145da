-- A save that the desk sent before.
select s.task_id, s.labeler, s.labeled_at
from annotation_saves as s
where s.save_id = :save_id
