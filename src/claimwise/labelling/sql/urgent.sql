-- Slots that are free for a person and wait in the annotators' queue, the most urgent first.
select s.task_id, s.slot, s.position, t.item_id
from annotation_queue as q
join annotation_tasks as t
    on t.round_id = :round_id
    and t.run_id = q.run_id
    and t.item_id = q.item_id
    and t.claim_id = q.claim_id
join annotation_slots as s on s.task_id = t.task_id
where q.task = 'label'
    and q.done_at is null
    and (s.state = 'open' or (s.state = 'leased' and s.leased_until < :now))
    and not exists (
        select 1
        from annotation_slots as o
        where o.task_id = s.task_id and o.labeler = :labeler
    )
    and not exists (
        select 1 from annotation_skips as k where k.task_id = s.task_id and k.labeler = :labeler
    )
order by q.priority desc, q.added_at, q.entry_id, s.slot
limit 1
