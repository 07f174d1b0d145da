-- Items of the golden set whose id, question or answer holds some words, with their gold spans counted.
-- Questions of live traffic are no items that somebody chose.
select
    e.item_id, e.query, e.query_type, e.answerable, e.stakes, e.gold_answer, e.source_corpus_ver,
    e.domain, e.expected_action,
    (select count(*) from gold_spans as g where g.item_id = e.item_id) as spans
from eval_items as e
where e.item_id > :after
    and strpos(
        lower(e.item_id || ' ' || e.query || ' ' || coalesce(e.gold_answer, '')), lower(:words)
    ) > 0
    and e.item_id not in (select t.item_id from item_retirements as t where t.restored_at is null)
    and e.item_id not in (select a.item_id from traffic_answers as a)
order by e.item_id
limit :most
