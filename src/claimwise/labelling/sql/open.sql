-- Free slots of a round behind a position that a person has neither labelled nor passed on.
select s.task_id, s.slot, s.position, t.item_id
from annotation_slots as s
join annotation_tasks as t on t.task_id = s.task_id
where s.round_id = :round_id
    and s.state = 'open'
    and s.position > :after
    and not exists (
        select 1
        from annotation_slots as o
        where o.task_id = s.task_id and o.labeler = :labeler
    )
    and not exists (
        select 1 from annotation_skips as k where k.task_id = s.task_id and k.labeler = :labeler
    )
order by s.position
limit :wanted
