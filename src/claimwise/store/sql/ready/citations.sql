-- A cited span gets its place in the cited document, when there is such a document.
select
    s.run_id, s.item_id, s.claim_id, s.position, s.source_id, s.marker, s.span_text,
    coalesce(s.span_start, nullif(strpos(d.source_text, s.span_text), 0) - 1) as span_start,
    coalesce(
        s.span_end, nullif(strpos(d.source_text, s.span_text), 0) - 1 + length(s.span_text)
    ) as span_end,
    s.file_no, s.line_no
from stage_citations as s
join runs as r on r.run_id = s.run_id
left join sources as d on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
