-- Answers of a run to items with a gold answer, with what is asked and expected, whether the system
-- declined, and whether a labeler has labelled them.
select
    a.item_id,
    a.sample,
    e.query,
    e.gold_answer,
    a.answer_text,
    case when r.action in ('abstain', 'clarify') then 1 else 0 end as declined,
    case when exists (
        select 1
        from answer_labels as l
        where l.run_id = a.run_id
            and l.item_id = a.item_id
            and l.sample = a.sample
            and l.labeler = :labeler
    ) then 1 else 0 end as labelled
from answers as a
join eval_items as e on e.item_id = a.item_id
left join deciding_actions as r
    on r.run_id = a.run_id and r.item_id = a.item_id and r.sample = a.sample
where a.run_id = :run_id and a.answer_text is not null and e.gold_answer is not null
order by a.item_id, a.sample
