-- title: Short claims
-- meaning: share of claims of fewer than 40 characters
-- grain: one row per item
-- unit: claim
-- better: higher
select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    n.numerator,
    n.denominator
from (
    select
        c.item_id,
        sum(case when length(c.claim_text) < 40 then 1 else 0 end) as numerator,
        count(*) as denominator
    from claims as c
    where c.run_id = :run_id
    group by c.item_id
) as n
join eval_items as e on e.item_id = n.item_id
