insert into closed_book_labels (
    run_id, item_id, claim_id, claim_text, label, decision_basis, labeler, labeled_at, label_kind,
    guide_version, inclusion_probability
) values (
    :run_id, :item_id, :claim_id, :claim_text, :verdict, :reason, :labeler, :labeled_at,
    :label_kind, :guide_version, :inclusion_probability
)
