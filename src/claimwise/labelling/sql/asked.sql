-- The claims of a run that metrics ask for.
select c.item_id, c.claim_id, c.sample, c.position
from claims as c
where c.run_id = :run_id and c.claim_type <> 'non_factual'
order by c.item_id, c.sample, c.position, c.claim_id
