-- One answer with its question and its gold answer.
select a.run_id, a.item_id, a.sample, e.query, e.gold_answer, a.answer_text
from answers as a
join eval_items as e on e.item_id = a.item_id
where a.run_id = :run_id
    and a.item_id = :item_id
    and a.sample = :sample
    and a.answer_text is not null
