-- tables: contexts
-- A retrieved passage's document is in the run's corpus version.
select
    s.file_no, s.line_no, 'source_id' as field, s.source_id as found,
    'a source of corpus version ' || r.corpus_ver || ' (import the sources too)' as expected
from subject as s
join runs as r on r.run_id = s.run_id
left join sources as d on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
where d.source_id is null
