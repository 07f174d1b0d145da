-- tables: contexts
-- A passage with a place lies inside its document.
select
    s.file_no, s.line_no, 'span_end' as field, cast(s.span_end as text) as found,
    'an offset up to ' || cast(length(d.source_text) as text) || ', the length of source '
    || s.source_id as expected
from subject as s
join runs as r on r.run_id = s.run_id
join sources as d on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
where s.span_end > length(d.source_text)
