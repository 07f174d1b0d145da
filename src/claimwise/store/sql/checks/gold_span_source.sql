-- tables: gold_spans
-- A gold span's document is in the item's corpus version.
select
    s.file_no, s.line_no, 'source_id' as field, s.source_id as found,
    'a source of corpus version ' || i.source_corpus_ver || ' (import the sources too)' as expected
from subject as s
join eval_items as i on i.item_id = s.item_id
left join sources as d on d.source_id = s.source_id and d.corpus_ver = i.source_corpus_ver
where d.source_id is null
