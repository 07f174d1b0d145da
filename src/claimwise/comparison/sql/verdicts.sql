-- The claims of a run, each with the verdict that decides it; none where nobody could say.
select c.item_id, c.claim_id, c.sample, c.claim_text, d.verdict, d.evidence
from claims as c
left join (
    select v.item_id, v.claim_id, v.{verdict} as verdict, {supporting_span} as evidence
    from {deciding_labels} as v
    where v.run_id = :run_id
) as d on d.item_id = c.item_id and d.claim_id = c.claim_id
where c.run_id = :run_id and c.claim_type <> 'non_factual'
order by c.item_id, c.sample, c.position, c.claim_id
