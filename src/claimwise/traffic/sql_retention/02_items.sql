-- Questions.
update eval_items
set query = '[deleted]'
where exists (
    select 1
    from traffic_answers as t
    where t.item_id = eval_items.item_id and t.text_deleted_at = :now
)
