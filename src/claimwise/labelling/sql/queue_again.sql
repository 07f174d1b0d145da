-- What was done by a label that is taken back waits again, unless another person's stands.
update annotation_queue
set done_at = null
where task = 'label'
    and run_id = :run_id
    and item_id = :item_id
    and claim_id = :claim_id
    and not exists (
        select 1
        from standing_labels as l
        where l.run_id = :run_id
            and l.item_id = :item_id
            and l.claim_id = :claim_id
            and l.label_kind in ('adjudicated', 'human')
    )
