-- What claims cite: the document stays, its words go.
update citations
set span_text = null, span_start = null, span_end = null
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = citations.run_id and t.item_id = citations.item_id and t.text_deleted_at = :now
)
