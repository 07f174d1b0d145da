-- What people say of a claim against the sources, as far as they stand by it, the latest last.
select
    l.labeler, l.verdict, l.labeled_at, l.guide_version, l.source_id, l.supporting_span,
    l.span_start, l.covered_text, l.reason, l.label_kind
from standing_labels as l
where l.run_id = :run_id
    and l.item_id = :item_id
    and l.claim_id = :claim_id
    and l.label_kind in ('adjudicated', 'human')
order by l.labeled_at, l.labeler
