-- Labels without sources: likewise.
update closed_book_labels
set claim_text = '[deleted]', decision_basis = null
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = closed_book_labels.run_id
        and t.item_id = closed_book_labels.item_id
        and t.text_deleted_at = :now
)
