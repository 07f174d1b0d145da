-- title: Faithfulness
-- meaning: share of scored claims that a span of the sources supports; claims without a verdict are unscored
-- grain: one row per item
-- role: main
-- order: 10
-- unit: claim
-- labels: deciding_labels
-- better: higher
select
    e.query_type,
    e.stakes,
    c.item_id as cluster_id,
    coalesce(d.supported, 0) as numerator,
    coalesce(d.scored, 0) as denominator,
    c.asked
from (
    select item_id, sum(case when claim_type <> 'non_factual' then 1 else 0 end) as asked
    from claims
    where run_id = :run_id
    group by item_id
) as c
join eval_items as e on e.item_id = c.item_id
left join (
    select
        item_id,
        count(*) as scored,
        sum(case when verdict = 'supported' then 1 else 0 end) as supported
    from deciding_labels
    where run_id = :run_id
    group by item_id
) as d on d.item_id = c.item_id
where c.asked > 0 or d.scored > 0
