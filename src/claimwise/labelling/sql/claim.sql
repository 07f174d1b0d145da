-- One claim with its answer and its question, whether a round asks for it or not.
select
    c.run_id, c.item_id, c.claim_id, c.sample, c.claim_text, c.claim_type, c.answer_start,
    c.answer_end, a.answer_text, e.query, n.corpus_ver, n.started_at
from claims as c
join answers as a
    on a.run_id = c.run_id and a.item_id = c.item_id and a.sample = c.sample
join eval_items as e on e.item_id = c.item_id
join runs as n on n.run_id = c.run_id
where c.run_id = :run_id
    and c.item_id = :item_id
    and c.claim_id = :claim_id
    and c.claim_type <> 'non_factual'
