-- Corpus versions: those with documents, and those that items or runs name.
with named as (
    select corpus_ver from sources
    union
    select source_corpus_ver as corpus_ver from eval_items
    union
    select corpus_ver from runs
)

select
    n.corpus_ver,
    (select count(*) from sources as s where s.corpus_ver = n.corpus_ver) as documents,
    (
        select coalesce(sum(length(s.source_text)), 0)
        from sources as s
        where s.corpus_ver = n.corpus_ver
    ) as characters,
    (select count(*) from eval_items as e where e.source_corpus_ver = n.corpus_ver) as items,
    (
        select count(*)
        from gold_spans as g
        join eval_items as e on e.item_id = g.item_id
        where e.source_corpus_ver = n.corpus_ver
    ) as gold_spans,
    (
        select count(*)
        from item_retirements as t
        join eval_items as e on e.item_id = t.item_id
        where e.source_corpus_ver = n.corpus_ver and t.restored_at is null
    ) as retired,
    (select count(*) from runs as r where r.corpus_ver = n.corpus_ver) as runs
from named as n
order by n.corpus_ver
