-- title: Citation precision
-- meaning: share of scored claims with a citation that a source they cite supports; a claim supported
--   only by a source it does not cite counts as not supported
-- grain: one row per item
-- role: main
-- order: 30
-- unit: claim
-- labels: deciding_labels
-- needs: citations
-- better: higher
with cited as (
    select c.item_id, c.claim_id
    from claims as c
    where c.run_id = :run_id
        and c.claim_type <> 'non_factual'
        and exists (
            select 1
            from citations as t
            where t.run_id = c.run_id and t.item_id = c.item_id and t.claim_id = c.claim_id
        )
),

judged as (
    select
        d.item_id,
        d.claim_id,
        case
            when d.verdict = 'supported' and exists (
                select 1
                from citations as t
                where t.run_id = d.run_id
                    and t.item_id = d.item_id
                    and t.claim_id = d.claim_id
                    and t.source_id = d.source_id
            ) then 1
            else 0
        end as entailed
    from deciding_labels as d
    where d.run_id = :run_id
)

select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(coalesce(j.entailed, 0)) as numerator,
    count(j.claim_id) as denominator,
    count(*) as asked
from cited as c
join eval_items as e on e.item_id = c.item_id
left join judged as j on j.item_id = c.item_id and j.claim_id = c.claim_id
group by e.query_type, e.stakes, e.item_id
