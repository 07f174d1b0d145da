-- The tasks of open rounds that ask for a claim, the latest round first.
select t.task_id
from annotation_tasks as t
join annotation_rounds as r on r.round_id = t.round_id
where t.run_id = :run_id
    and t.item_id = :item_id
    and t.claim_id = :claim_id
    and r.judgement = :judgement
    and r.closed_at is null
order by r.created_at desc, t.task_id
