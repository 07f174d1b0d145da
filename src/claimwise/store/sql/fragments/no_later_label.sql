not exists (
    select 1
    from {candidate_labels} as n
    where n.run_id = v.run_id
        and n.item_id = v.item_id
        and n.claim_id = v.claim_id
        and n.labeler = v.labeler
        and n.labeled_at > v.labeled_at
)
