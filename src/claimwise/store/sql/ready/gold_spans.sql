-- Spans find their own place: the first occurrence, unless the file says which.
select
    s.item_id, s.source_id, s.span_text, s.required,
    coalesce(s.span_start, strpos(d.source_text, s.span_text) - 1) as span_start,
    coalesce(s.span_start, strpos(d.source_text, s.span_text) - 1) + length(s.span_text)
    as span_end,
    s.span_words, s.file_no, s.line_no
from stage_gold_spans as s
join eval_items as i on i.item_id = s.item_id
join sources as d on d.source_id = s.source_id and d.corpus_ver = i.source_corpus_ver
