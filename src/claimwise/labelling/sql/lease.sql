update annotation_slots
set state = 'leased', labeler = :labeler, leased_until = :leased_until, labeled_at = null
where task_id = :task_id
    and slot = :slot
    and (state = 'open' or labeler = :labeler or (state = 'leased' and leased_until < :now))
