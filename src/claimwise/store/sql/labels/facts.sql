-- What the rules for labels (types/label_rules.py) look at, for every label of `subject`. There may
-- be millions: what few labels need is looked up for those alone. Without its claim, a label's
-- is_action is null.
select
    s.file_no, s.line_no, s.verdict,
    coalesce(
        s.claim_type,
        (
            select c.claim_type
            from claims as c
            where c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
        )
    ) = 'action' as is_action,
    s.labeler in (select p.labeler from labelers as p where p.labeler_kind = 'verifier') as by_judge,
    case
        when trim(coalesce(s.supporting_span, ''), ' 	
') <> ''
            then case when s.source_id is null then 'entry' else 'span' end
        when s.source_id is not null then 'document'
        else 'nothing'
    end as evidence,
    trim(coalesce(s.covered_text, ''), ' 	
') <> '' as covered,
    case
        when s.verdict = 'stale' then exists (
            select 1
            from runs as r
            join sources as d on d.corpus_ver = r.corpus_ver
            where r.run_id = s.run_id
                and d.source_id = s.source_id
                and (
                    d.superseded_by is not null
                    or cast(d.valid_until as text) < substr(cast(r.started_at as text), 1, 10)
                )
        )
        else false
    end as expired
from subject as s
