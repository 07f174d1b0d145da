-- Answers to retired items, which no metric counts. In the corpus version that an item was written for,
-- its evidence is still there, so answers of runs on that version still count.
select r.run_id, e.item_id
from item_retirements as t
join eval_items as e on e.item_id = t.item_id
join runs as r on r.corpus_ver <> e.source_corpus_ver
where t.restored_at is null
