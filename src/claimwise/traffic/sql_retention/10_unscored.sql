-- Failed judgements: their reasons are codes, and stay.
update unscored_claims
set claim_text = '[deleted]', detail = null
where exists (
    select 1
    from traffic_answers as t
    where t.run_id = unscored_claims.run_id
        and t.item_id = unscored_claims.item_id
        and t.text_deleted_at = :now
)
