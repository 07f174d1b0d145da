-- A slot that someone else has far ahead of them and has not come to: the last one of those who hold most,
-- of people who hold more than two. For someone who would else have nothing to do.
select s.task_id, s.slot, s.position, s.leased_until, s.labeler
from annotation_slots as s
join (
    select h.labeler, count(*) as held
    from annotation_slots as h
    where h.round_id = :round_id and h.state = 'leased' and coalesce(h.labeler, '') <> :labeler
    group by h.labeler
    having count(*) > 2
) as p on p.labeler = s.labeler
where s.round_id = :round_id
    and s.state = 'leased'
    and not exists (
        select 1
        from annotation_slots as o
        where o.task_id = s.task_id and o.labeler = :labeler
    )
    and not exists (
        select 1 from annotation_skips as k where k.task_id = s.task_id and k.labeler = :labeler
    )
order by p.held desc, s.leased_until desc, s.position desc
limit 1
