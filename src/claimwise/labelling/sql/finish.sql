update annotation_slots
set state = 'done', labeled_at = :labeled_at, seconds = :seconds, leased_until = null
where task_id = :task_id and slot = :slot and labeler = :labeler
