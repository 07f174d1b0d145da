-- An instrument's verdicts on a run's claims, counted by item; null is a claim without one.
select c.item_id, v.{verdict}, count(*)
from claims as c
left join {candidate_labels} as v
    on v.run_id = c.run_id
    and v.item_id = c.item_id
    and v.claim_id = c.claim_id
    and v.labeler = :labeler
    and {no_later_label}
where c.run_id = :run_id
    and c.claim_type <> 'non_factual'
    and c.item_id not in (select x.item_id from retired_answers as x where x.run_id = :run_id)
group by c.item_id, v.{verdict}
order by c.item_id, v.{verdict}
