-- The deciding labels under the measuring spec's name, with its columns first, so that a query written from
-- the spec counts each claim once, however many labels it has. A row that is inserted here becomes a label
-- (sql/writing).
select
    run_id, item_id, claim_text, claim_type, verdict, supporting_span, source_id, labeler, labeled_at,
    claim_id, label_kind, guide_version, span_start, confidence, reason, inclusion_probability, covered_text
from deciding_labels
