-- title: Overreach share
-- meaning: share of scored claims that say more than their span does; a metric of this project,
--   to show how one is added
-- grain: one row per item
-- role: detail
-- unit: claim
-- labels: deciding_labels
-- better: lower
select
    c.item_id as cluster_id,
    sum(case when d.verdict = 'overreach' then 1 else 0 end) as numerator,
    count(d.verdict) as denominator,
    count(*) as asked
from claims as c
left join deciding_labels as d
    on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
where c.run_id = :run_id and c.claim_type <> 'non_factual'
group by c.item_id
