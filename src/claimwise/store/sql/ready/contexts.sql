-- A passage that stands in its document letter by letter gets its place; a reworded one has none.
select
    s.run_id, s.item_id, s.sample, s.position, s.source_id, s.context_text,
    coalesce(s.span_start, nullif(strpos(d.source_text, s.context_text), 0) - 1) as span_start,
    coalesce(
        s.span_end, nullif(strpos(d.source_text, s.context_text), 0) - 1 + length(s.context_text)
    ) as span_end,
    s.score, s.context_words, s.file_no, s.line_no
from stage_contexts as s
join runs as r on r.run_id = s.run_id
join sources as d on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
