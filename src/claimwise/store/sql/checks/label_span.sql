-- tables: labels
-- A label's document is in the run's corpus version, and its span stands there letter by letter,
-- at the place it gives.
select
    s.file_no, s.line_no,
    case when d.source_id is null then 'source_id' else 'supporting_span' end as field,
    case when d.source_id is null then s.source_id else s.supporting_span end as found,
    case
        when d.source_id is null
            then 'a source of corpus version ' || r.corpus_ver || ' (import the sources too)'
        else
            'text that occurs in source ' || s.source_id || ' of corpus version ' || r.corpus_ver
            || coalesce(' at offset ' || cast(s.span_start as text), '')
    end as expected
from subject as s
join runs as r on r.run_id = s.run_id
left join sources as d on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
where s.source_id is not null
    and case
        when d.source_id is null then true
        when s.supporting_span is null then false
        when s.span_start is null then strpos(d.source_text, s.supporting_span) = 0
        else substr(d.source_text, s.span_start + 1, length(s.supporting_span)) <> s.supporting_span
    end
