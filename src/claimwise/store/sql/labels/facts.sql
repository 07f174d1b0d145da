-- What the rules for labels (types/label_rules.py) look at, for every label of `subject`.
select
    s.file_no, s.line_no, s.verdict,
    c.claim_type = 'action' as is_action,
    p.labeler_kind = 'verifier' as by_judge,
    case
        when trim(coalesce(s.supporting_span, ''), ' 	
') <> ''
            then case when s.source_id is null then 'entry' else 'span' end
        when s.source_id is not null then 'document'
        else 'nothing'
    end as evidence,
    trim(coalesce(s.covered_text, ''), ' 	
') <> '' as covered,
    d.superseded_by is not null
    or coalesce(cast(d.valid_until as text) < substr(cast(r.started_at as text), 1, 10), false)
    as expired
from subject as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
join labelers as p on p.labeler = s.labeler
join runs as r on r.run_id = s.run_id
left join sources as d
    on s.verdict = 'stale' and d.source_id = s.source_id and d.corpus_ver = r.corpus_ver
