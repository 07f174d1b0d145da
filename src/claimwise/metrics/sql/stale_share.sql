-- title: Stale share
-- meaning: share of scored claims that only a replaced or expired source supports
-- grain: one row per item
-- role: main
-- order: 100
-- unit: claim
-- labels: deciding_labels
-- needs: validity
-- better: lower
with counted as (
    select c.item_id, count(*) as asked, 0 as scored, 0 as stale
    from claims as c
    where c.run_id = :run_id and c.claim_type <> 'non_factual'
    group by c.item_id
    union all
    select
        d.item_id,
        0 as asked,
        count(*) as scored,
        sum(case when d.verdict = 'stale' then 1 else 0 end) as stale
    from deciding_labels as d
    where d.run_id = :run_id
    group by d.item_id
)

select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(n.stale) as numerator,
    sum(n.scored) as denominator,
    sum(n.asked) as asked
from counted as n
join eval_items as e on e.item_id = n.item_id
-- Of passages without their documents nobody knows whether they still hold.
where exists (
    select 1
    from runs as r
    left join sources as s on s.corpus_ver = r.corpus_ver
    where r.run_id = :run_id and s.source_kind is null
)
group by e.query_type, e.stakes, e.item_id
