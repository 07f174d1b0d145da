-- What people say of a claim without sources, as far as they stand by it, the latest last.
select
    l.labeler, l.label as verdict, l.labeled_at, l.guide_version, null as source_id,
    null as supporting_span, null as span_start, null as covered_text,
    l.decision_basis as reason, l.label_kind
from standing_closed_book_labels as l
where l.run_id = :run_id
    and l.item_id = :item_id
    and l.claim_id = :claim_id
    and l.label_kind in ('adjudicated', 'human')
order by l.labeled_at, l.labeler
