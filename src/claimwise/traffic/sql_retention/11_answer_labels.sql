-- Labels of whole answers.
update answer_labels
set reason = null
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = answer_labels.run_id
        and t.item_id = answer_labels.item_id
        and t.text_deleted_at = :now
)
