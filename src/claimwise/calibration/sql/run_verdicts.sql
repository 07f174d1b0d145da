-- A judge's verdicts on a run's claims, counted by item; null is a claim without one. Its labels are
-- read once: compared with each other row by row, they take PostgreSQL seconds for a few hundred.
with said as (
    select
        v.item_id, v.claim_id, v.{verdict} as verdict, v.labeled_at,
        max(v.labeled_at) over (partition by v.item_id, v.claim_id) as latest
    from {candidate_labels} as v
    where v.run_id = :run_id and v.labeler = :labeler
)
select c.item_id, s.verdict, count(*)
from claims as c
left join said as s
    on s.item_id = c.item_id
    and s.claim_id = c.claim_id
    and s.labeled_at = s.latest
where c.run_id = :run_id
    and c.claim_type <> 'non_factual'
    and c.item_id not in (select x.item_id from retired_answers as x where x.run_id = :run_id)
group by c.item_id, s.verdict
order by c.item_id, s.verdict
