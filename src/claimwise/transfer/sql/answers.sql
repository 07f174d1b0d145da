-- The answers of a run to the items from :first to :last, with their questions.
select
    a.item_id,
    a.sample,
    a.answer_text,
    a.failure,
    a.context_count,
    a.trace_id,
    e.query,
    e.gold_answer,
    e.domain
from answers as a
join eval_items as e on e.item_id = a.item_id
where a.run_id = :run_id and a.item_id between :first and :last
order by a.item_id, a.sample
