-- title: Contested share
-- meaning: share of the claims labelled by several people on which they disagree and nobody has
--   adjudicated; until then the latest label decides
-- grain: one row per item
-- role: measurement
-- order: 140
-- unit: claim
-- labels: none
-- needs: people
-- better: lower
with latest as (
    select l.item_id, l.claim_id, l.labeler, l.verdict
    from standing_labels as l
    where l.run_id = :run_id
        and l.label_kind = 'human'
        and not exists (
            select 1
            from standing_labels as n
            where n.run_id = l.run_id
                and n.item_id = l.item_id
                and n.claim_id = l.claim_id
                and n.labeler = l.labeler
                and n.label_kind = 'human'
                and n.labeled_at > l.labeled_at
        )
),

shared as (
    select
        l.item_id,
        l.claim_id,
        case when min(l.verdict) <> max(l.verdict) and not exists (
            select 1
            from standing_labels as x
            where x.run_id = :run_id
                and x.item_id = l.item_id
                and x.claim_id = l.claim_id
                and x.label_kind = 'adjudicated'
        ) then 1 else 0 end as contested
    from latest as l
    group by l.item_id, l.claim_id
    having count(*) > 1
)

select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(s.contested) as numerator,
    count(*) as denominator,
    count(*) as asked
from shared as s
join eval_items as e on e.item_id = s.item_id
group by e.query_type, e.stakes, e.item_id
