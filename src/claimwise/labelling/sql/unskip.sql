delete from annotation_skips where task_id = :task_id and labeler = :labeler
