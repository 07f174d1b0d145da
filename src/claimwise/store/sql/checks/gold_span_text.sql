-- tables: gold_spans
-- A gold span stands in its document letter by letter, at the place it gives.
select
    s.file_no, s.line_no, 'span_text' as field, s.span_text as found,
    'text that occurs in source ' || s.source_id || ' of corpus version ' || d.corpus_ver
    || coalesce(' at offset ' || cast(s.span_start as text), '') as expected
from subject as s
join eval_items as i on i.item_id = s.item_id
join sources as d on d.source_id = s.source_id and d.corpus_ver = i.source_corpus_ver
where case
    when s.span_start is null then strpos(d.source_text, s.span_text) = 0
    else substr(d.source_text, s.span_start + 1, length(s.span_text)) <> s.span_text
end
