-- Everything that people ever said of a run's claims against the sources, taken back or not.
select
    l.item_id, l.claim_id, l.labeler, l.labeled_at, l.verdict, l.supporting_span, l.source_id,
    l.covered_text, l.reason
from labels as l
where l.run_id = :run_id and l.label_kind = 'human'
order by l.labeled_at
