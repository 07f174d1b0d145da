-- Tasks of a round on which people differ, each by their latest label, or that someone passed on
-- and nobody has labelled; and whether someone has decided it.
select
    t.task_id,
    exists (
        select 1
        from {standing_labels} as l
        where l.run_id = t.run_id
            and l.item_id = t.item_id
            and l.claim_id = t.claim_id
            and l.label_kind = 'adjudicated'
    ) as decided
from annotation_tasks as t
where t.round_id = :round_id
    and (
        (
            select count(distinct l.{verdict})
            from {standing_labels} as l
            where l.run_id = t.run_id
                and l.item_id = t.item_id
                and l.claim_id = t.claim_id
                and l.label_kind = 'human'
                and not exists (
                    select 1
                    from {standing_labels} as n
                    where n.run_id = l.run_id
                        and n.item_id = l.item_id
                        and n.claim_id = l.claim_id
                        and n.labeler = l.labeler
                        and n.label_kind = 'human'
                        and n.labeled_at > l.labeled_at
                )
        ) > 1
        or (
            exists (select 1 from annotation_skips as k where k.task_id = t.task_id)
            and not exists (
                select 1
                from {standing_labels} as l
                where l.run_id = t.run_id
                    and l.item_id = t.item_id
                    and l.claim_id = t.claim_id
                    and l.label_kind = 'human'
            )
        )
    )
order by t.position
