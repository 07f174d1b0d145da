-- A task with its claim, its answer and its question.
select
    r.judgement, t.run_id, t.item_id, t.claim_id, c.sample, c.claim_text, c.claim_type,
    c.answer_start, c.answer_end, a.answer_text, e.query, n.corpus_ver, n.started_at,
    t.task_id, t.round_id, t.position, t.inclusion_probability, r.guide_version,
    r.created_at as round_created_at, r.closed_at
from annotation_tasks as t
join annotation_rounds as r on r.round_id = t.round_id
join claims as c
    on c.run_id = t.run_id and c.item_id = t.item_id and c.claim_id = t.claim_id
join answers as a
    on a.run_id = c.run_id and a.item_id = c.item_id and a.sample = c.sample
join eval_items as e on e.item_id = t.item_id
join runs as n on n.run_id = t.run_id
where t.task_id = :task_id
