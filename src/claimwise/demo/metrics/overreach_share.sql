-- title: Overreach share
-- meaning: share of scored claims that say more than their span does; a metric of this project,
--   to show how one is added
-- grain: one row per item
-- unit: claim
-- better: lower
select
    d.item_id as cluster_id,
    sum(case when d.verdict = 'overreach' then 1 else 0 end) as numerator,
    count(*) as denominator
from deciding_labels as d
where d.run_id = :run_id
group by d.item_id
