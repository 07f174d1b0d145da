-- tables: labels
-- A span without a document is an entry of the action log, and only action claims rest on one.
select
    s.file_no, s.line_no,
    case when c.claim_type = 'action' then 'supporting_span' else 'source_id' end as field,
    case when c.claim_type = 'action' then s.supporting_span else 'nothing' end as found,
    case
        when c.claim_type = 'action' then 'the text of an entry in the answer''s action_log'
        else 'the source of the supporting span'
    end as expected
from subject as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
where s.supporting_span is not null
    and s.source_id is null
    and (
        c.claim_type <> 'action'
        or not exists (
            select 1
            from action_log as g
            where g.run_id = s.run_id
                and g.item_id = s.item_id
                and g.sample = c.sample
                and g.entry_text = s.supporting_span
        )
    )
