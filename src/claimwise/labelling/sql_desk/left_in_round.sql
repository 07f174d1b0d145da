-- Claims of a round that a person holds or could still be given.
select count(distinct s.task_id)
from annotation_slots as s
where s.round_id = :round_id
    and (
        (s.state = 'leased' and s.labeler = :labeler)
        or (
            s.state = 'open'
            and not exists (
                select 1
                from annotation_slots as o
                where o.task_id = s.task_id and o.labeler = :labeler
            )
            and not exists (
                select 1
                from annotation_skips as k
                where k.task_id = s.task_id and k.labeler = :labeler
            )
        )
    )
