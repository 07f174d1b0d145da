l.decides <> exists (
    select 1
    from computed_{deciding_labels} as d
    where d.run_id = l.run_id
        and d.item_id = l.item_id
        and d.claim_id = l.claim_id
        and d.labeler = l.labeler
        and d.labeled_at = l.labeled_at
)
