-- title: Unscored share
-- meaning: share of the claims to be judged that have no verdict: nobody judged them, or it failed
-- grain: one row per item
-- role: measurement
-- order: 110
-- unit: claim
-- labels: none
-- better: lower
with counted as (
    select c.item_id, count(*) as asked, 0 as scored
    from claims as c
    where c.run_id = :run_id and c.claim_type <> 'non_factual'
    group by c.item_id
    union all
    select d.item_id, 0 as asked, count(*) as scored
    from deciding_labels as d
    where d.run_id = :run_id
    group by d.item_id
)

select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(n.asked) - sum(n.scored) as numerator,
    sum(n.asked) as denominator,
    sum(n.asked) as asked
from counted as n
join eval_items as e on e.item_id = n.item_id
group by e.query_type, e.stakes, e.item_id
