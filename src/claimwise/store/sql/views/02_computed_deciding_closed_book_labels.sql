-- What deciding_closed_book_labels must contain, by the rule of computed_deciding_labels.
select l.*
from candidate_closed_book_labels as l
where not exists (
    select 1
    from candidate_closed_book_labels as b
    where b.run_id = l.run_id
        and b.item_id = l.item_id
        and b.claim_id = l.claim_id
        and (
            b.label_kind < l.label_kind
            or (b.label_kind = l.label_kind and b.labeled_at > l.labeled_at)
            or (b.label_kind = l.label_kind and b.labeled_at = l.labeled_at and b.labeler < l.labeler)
        )
)
