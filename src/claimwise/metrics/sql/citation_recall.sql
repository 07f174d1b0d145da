-- title: Citation recall
-- meaning: share of the claims requiring a citation that have one; a marker that points at no source
--   does not count; claims of type citation_required require one or, if a run has none of that
--   type but cites at all, every factual claim does
-- grain: one row per item
-- role: main
-- order: 40
-- unit: claim
-- labels: none
-- needs: citations
-- better: higher
with setting as (
    select 'cited' as policy
),

required as (
    select
        case
            when s.policy = 'all' then 1
            when s.policy = 'marked' then 0
            when exists (
                select 1
                from claims as m
                where m.run_id = :run_id and m.claim_type = 'citation_required'
            ) then 0
            when exists (select 1 from citations as t where t.run_id = :run_id) then 1
            else 0
        end as factual
    from setting as s
)

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
cross join required as r
where c.run_id = :run_id
    and (c.claim_type = 'citation_required' or (c.claim_type = 'factual' and r.factual = 1))
group by e.query_type, e.stakes, e.item_id
