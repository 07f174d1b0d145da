-- An adjudicated claim needs nobody else: its free slots are done.
update annotation_slots
set state = 'done', labeler = null, leased_until = null
where task_id = :task_id and state = 'open'
