-- The action log.
update action_log
set entry_text = '[deleted]'
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = action_log.run_id
        and t.item_id = action_log.item_id
        and t.sample = action_log.sample
        and t.text_deleted_at = :now
)
