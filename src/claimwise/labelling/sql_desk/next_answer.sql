-- The first answer of a run, after a place, whose correctness a person has not labelled.
select a.item_id, a.sample
from answers as a
join eval_items as e on e.item_id = a.item_id
where a.run_id = :run_id
    and a.answer_text is not null
    and e.gold_answer is not null
    and (a.item_id > :item_id or (a.item_id = :item_id and a.sample > :sample))
    and not exists (
        select 1
        from answer_labels as l
        where l.run_id = a.run_id
            and l.item_id = a.item_id
            and l.sample = a.sample
            and l.labeler = :labeler
    )
order by a.item_id, a.sample
limit 1
