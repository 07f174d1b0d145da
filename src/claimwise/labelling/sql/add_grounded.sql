insert into labels (
    run_id, item_id, claim_id, claim_text, claim_type, verdict, supporting_span, source_id,
    labeler, labeled_at, label_kind, guide_version, span_start, reason, inclusion_probability,
    covered_text
) values (
    :run_id, :item_id, :claim_id, :claim_text, :claim_type, :verdict, :supporting_span, :source_id,
    :labeler, :labeled_at, :label_kind, :guide_version, :span_start, :reason,
    :inclusion_probability, :covered_text
)
