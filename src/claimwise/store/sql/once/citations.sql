-- The claim is not one of those that came first, or came with its citations.
not exists (
    select 1
    from claims as c
    where c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
)
or exists (
    select 1
    from citations as t
    where t.run_id = s.run_id and t.item_id = s.item_id and t.claim_id = s.claim_id
)
