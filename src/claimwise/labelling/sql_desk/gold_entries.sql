-- Items that wait for gold spans, the most urgent first. Spans that have come in by another way, as by
-- an import, wait no more.
select
    q.entry_id, q.reason, q.added_at, e.item_id, e.query, e.gold_answer, e.source_corpus_ver,
    e.domain
from annotation_queue as q
join eval_items as e on e.item_id = q.item_id
where q.task = 'gold_spans'
    and q.done_at is null
    and not exists (select 1 from gold_spans as g where g.item_id = q.item_id)
order by q.priority desc, q.added_at, q.entry_id
