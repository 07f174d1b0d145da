-- The tasks that a person labelled last in a round.
select t.task_id, t.item_id, c.claim_text
from annotation_slots as s
join annotation_tasks as t on t.task_id = s.task_id
join claims as c
    on c.run_id = t.run_id and c.item_id = t.item_id and c.claim_id = t.claim_id
where s.round_id = :round_id and s.labeler = :labeler and s.labeled_at is not null
order by s.labeled_at desc
limit :wanted
