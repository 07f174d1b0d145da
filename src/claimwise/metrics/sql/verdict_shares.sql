-- title: Verdict shares
-- meaning: how the scored claims are distributed over the five verdicts
-- grain: one row per item and verdict
-- role: detail
-- order: 90
-- unit: claim
-- labels: deciding_labels
-- series: verdict
-- note supported: a span supports all of it
-- note unlinked: no span supports or contradicts it, true or not
-- note overreach: a span supports part of it, but the claim says more
-- note contradicted: a span says the opposite
-- note stale: only a replaced or expired source supports it
with verdicts as (
    select 'supported' as verdict
    union all select 'unlinked'
    union all select 'overreach'
    union all select 'contradicted'
    union all select 'stale'
),

counted as (
    select c.item_id, v.verdict, count(*) as asked, 0 as scored, 0 as given
    from claims as c
    cross join verdicts as v
    where c.run_id = :run_id and c.claim_type <> 'non_factual'
    group by c.item_id, v.verdict
    union all
    select
        d.item_id,
        v.verdict,
        0 as asked,
        count(*) as scored,
        sum(case when d.verdict = v.verdict then 1 else 0 end) as given
    from deciding_labels as d
    cross join verdicts as v
    where d.run_id = :run_id
    group by d.item_id, v.verdict
)

select
    n.verdict,
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(n.given) as numerator,
    sum(n.scored) as denominator,
    sum(n.asked) as asked
from counted as n
join eval_items as e on e.item_id = n.item_id
group by n.verdict, e.query_type, e.stakes, e.item_id
