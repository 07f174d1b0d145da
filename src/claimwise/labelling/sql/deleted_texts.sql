-- How many answers of a run of live traffic have lost their texts, and when the last of them did.
select count(*), max(text_deleted_at) from traffic_answers where run_id = :run_id and text_deleted_at is not null
