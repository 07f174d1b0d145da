-- Passages as the system saw them.
update contexts
set context_text = '[deleted]', context_words = null, span_start = null, span_end = null
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = contexts.run_id
        and t.item_id = contexts.item_id
        and t.sample = contexts.sample
        and t.text_deleted_at = :now
)
