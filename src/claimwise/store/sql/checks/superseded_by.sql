-- tables: sources
-- A document is superseded by another one that is there.
select
    s.file_no, s.line_no, 'superseded_by' as field, s.superseded_by as found,
    'the source_id of another document' as expected
from subject as s
where s.superseded_by is not null
    and (
        s.superseded_by = s.source_id
        or (
            not exists (select 1 from subject as t where t.source_id = s.superseded_by)
            and not exists (select 1 from sources as t where t.source_id = s.superseded_by)
        )
    )
