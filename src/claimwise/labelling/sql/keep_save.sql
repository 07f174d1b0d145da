insert into annotation_saves (save_id, task_id, labeler, labeled_at, suggestion, saved_at)
values (:save_id, :task_id, :labeler, :labeled_at, :suggestion, :now)
