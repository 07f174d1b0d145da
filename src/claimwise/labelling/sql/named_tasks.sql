-- What tasks are about, in words: the claim, and the round that it is labelled in.
select t.task_id, c.claim_text, t.run_id, t.item_id, c.sample, t.claim_id, r.title
from annotation_tasks as t
join annotation_rounds as r on r.round_id = t.round_id
join claims as c on c.run_id = t.run_id and c.item_id = t.item_id and c.claim_id = t.claim_id
where t.task_id in ({ids})
