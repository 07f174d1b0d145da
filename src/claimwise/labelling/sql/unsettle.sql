-- A claim whose decision was taken back may need more labels: what the decision closed opens again.
update annotation_slots
set state = 'open'
where task_id = :task_id and state = 'done' and labeler is null
