-- Claims of a run that an open round asks for, with the round's title.
select t.item_id, t.claim_id, r.title
from annotation_rounds as r
join annotation_tasks as t on t.round_id = r.round_id
where r.run_id = :run_id and r.judgement = :judgement and r.closed_at is null
order by r.created_at desc, r.round_id
