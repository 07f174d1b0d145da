-- The claims that rounds of a run ask for, the latest round last.
select t.item_id, t.claim_id, t.round_id
from annotation_tasks as t
join annotation_rounds as r on r.round_id = t.round_id
where t.run_id = :run_id and r.judgement = :judgement
order by r.created_at, r.round_id
