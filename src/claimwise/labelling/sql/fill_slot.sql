-- A label that came in by a file, and stands, takes its labeler's slot of the task, else the first
-- one that is free or whose lease has ended.
update annotation_slots
set state = 'done', labeler = :labeler, labeled_at = :labeled_at, leased_until = null
where task_id = :task_id
    and state <> 'done'
    and slot = coalesce(
        (
            select min(o.slot)
            from annotation_slots as o
            where o.task_id = :task_id and o.labeler = :labeler
        ),
        (
            select min(f.slot)
            from annotation_slots as f
            where f.task_id = :task_id
                and (f.state = 'open' or (f.state = 'leased' and f.leased_until < :now))
        )
    )
    and exists (
        select 1
        from annotation_tasks as t
        join {standing_labels} as l
            on l.run_id = t.run_id and l.item_id = t.item_id and l.claim_id = t.claim_id
        where t.task_id = :task_id and l.labeler = :labeler and l.labeled_at = :labeled_at
    )
