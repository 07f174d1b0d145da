-- Someone has split the answer meanwhile: the claims that came first stay.
exists (
    select 1
    from claims as c
    where c.run_id = s.run_id and c.item_id = s.item_id and c.sample = s.sample
)
