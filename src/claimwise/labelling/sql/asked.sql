-- The claims of a run that metrics ask for.
select c.item_id, c.claim_id, c.sample, c.position
from claims as c
where c.run_id = :run_id
    and c.claim_type <> 'non_factual'
    and c.item_id not in (select x.item_id from retired_answers as x where x.run_id = :run_id)
order by c.item_id, c.sample, c.position, c.claim_id
