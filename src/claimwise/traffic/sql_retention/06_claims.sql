-- Claims: their ids and types stay.
update claims
set claim_text = '[deleted]', answer_start = null, answer_end = null
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = claims.run_id and t.item_id = claims.item_id and t.text_deleted_at = :now
)
