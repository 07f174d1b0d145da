-- tables: citations
-- A cited span stands in the cited document, at the place it gives. The document may be invented.
select
    s.file_no, s.line_no,
    case when s.span_text is null then 'span_end' else 'span_text' end as field,
    case when s.span_text is null then cast(s.span_end as text) else s.span_text end as found,
    case
        when s.span_text is null
            then 'an offset up to ' || cast(length(d.source_text) as text)
                || ', the length of source ' || s.source_id
        else 'text that occurs in source ' || s.source_id || ' of corpus version ' || d.corpus_ver
            || coalesce(' at offset ' || cast(s.span_start as text), '')
    end as expected
from subject as s
join runs as r on r.run_id = s.run_id
join sources as d on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
where case
    when s.span_text is null then s.span_end > length(d.source_text)
    when s.span_start is null then strpos(d.source_text, s.span_text) = 0
    else substr(d.source_text, s.span_start + 1, length(s.span_text)) <> s.span_text
end
