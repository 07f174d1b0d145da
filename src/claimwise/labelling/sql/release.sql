update annotation_slots
set state = 'open', labeler = null, leased_until = null
where task_id = :task_id and slot = :slot and labeler = :labeler
