update annotation_queue
set done_at = :now
where task = 'label'
    and done_at is null
    and run_id = :run_id
    and item_id = :item_id
    and claim_id = :claim_id
