-- One answer of a run, with its question.
select
    a.run_id, a.item_id, a.sample, e.query as question, a.answer_text, a.failure, r.system, r.model,
    r.prompt_ver, r.corpus_ver, r.started_at, e.answerable, e.domain, e.query_type, e.stakes
from answers as a
join runs as r on r.run_id = a.run_id
join eval_items as e on e.item_id = a.item_id
where a.run_id = :run_id and a.item_id = :item_id and a.sample = :sample
