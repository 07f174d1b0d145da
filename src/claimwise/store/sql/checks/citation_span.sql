-- tables: citations
-- A cited span stands in the cited document. The document itself may be invented.
select
    s.file_no, s.line_no, 'span_text' as field, s.span_text as found,
    'text that occurs in source ' || s.source_id || ' of corpus version ' || d.corpus_ver as expected
from subject as s
join runs as r on r.run_id = s.run_id
join sources as d on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
where s.span_text is not null
    and case
        when s.span_start is null then strpos(d.source_text, s.span_text) = 0
        else substr(d.source_text, s.span_start + 1, length(s.span_text)) <> s.span_text
    end
