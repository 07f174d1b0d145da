update annotation_slots
set labeler = :labeler, leased_until = :leased_until
where task_id = :task_id and slot = :slot and state = 'leased' and labeler = :holder
