-- How a labeler has labelled a run's answers, each by its latest label, and what people say of them:
-- null where they say nothing.
select
    l.correct,
    (
        select p.correct
        from answer_labels as p
        where p.run_id = l.run_id
            and p.item_id = l.item_id
            and p.sample = l.sample
            and p.label_kind in ('adjudicated', 'human')
        order by p.label_kind, p.labeled_at desc, p.labeler
        limit 1
    ) as people
from answer_labels as l
where l.run_id = :run_id
    and l.labeler = :labeler
    and not exists (
        select 1
        from answer_labels as n
        where n.run_id = l.run_id
            and n.item_id = l.item_id
            and n.sample = l.sample
            and n.labeler = l.labeler
            and n.labeled_at > l.labeled_at
    )
