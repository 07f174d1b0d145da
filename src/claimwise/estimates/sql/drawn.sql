-- The claims of a run that rounds drew, each with the probability of that.
select t.round_id, t.item_id, t.claim_id, t.inclusion_probability
from annotation_tasks as t
where t.run_id = :run_id
