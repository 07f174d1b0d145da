-- title: Citation recall
-- meaning: share of the claims that require a citation (claim type citation_required) that carry
--   one; a marker that points at no source is none
-- grain: one row per item
-- role: main
-- order: 40
-- unit: claim
-- labels: none
-- needs: citation_required
-- better: higher
select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(
        case when exists (
            select 1
            from citations as t
            where t.run_id = c.run_id
                and t.item_id = c.item_id
                and t.claim_id = c.claim_id
                and t.source_id is not null
        ) then 1 else 0 end
    ) as numerator,
    count(*) as denominator,
    count(*) as asked
from claims as c
join eval_items as e on e.item_id = c.item_id
where c.run_id = :run_id and c.claim_type = 'citation_required'
group by e.query_type, e.stakes, e.item_id
