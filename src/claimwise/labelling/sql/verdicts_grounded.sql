-- The latest verdict of every instrument on a claim.
select
    l.labeler, l.verdict, l.labeled_at, l.guide_version, l.source_id, l.supporting_span,
    l.span_start, l.covered_text, l.reason, l.confidence
from standing_labels as l
where l.run_id = :run_id
    and l.item_id = :item_id
    and l.claim_id = :claim_id
    and l.label_kind = 'verifier'
order by l.labeler, l.labeled_at
