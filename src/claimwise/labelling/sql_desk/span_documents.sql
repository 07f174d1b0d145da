-- The documents that an item's gold spans stand in.
select
    d.source_id, d.source_text, d.title, d.url, d.valid_from, d.valid_until, d.superseded_by
from sources as d
where d.corpus_ver = :corpus_ver
    and d.source_id in (select g.source_id from gold_spans as g where g.item_id = :item_id)
order by d.source_id
