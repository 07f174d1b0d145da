-- The claim is not one of those that came first, or its labeler has judged it already.
not exists (
    select 1
    from claims as c
    where c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
)
or exists (
    select 1
    from standing_labels as l
    where l.run_id = s.run_id
        and l.item_id = s.item_id
        and l.claim_id = s.claim_id
        and l.labeler = s.labeler
        and l.labeled_at >= :since
)
