-- Claims of which not every label decides: with several labels, or with one that was taken back. And those
-- that are said to have none.
select run_id, item_id, claim_id from {labels} group by run_id, item_id, claim_id having count(*) > 1
union
select run_id, item_id, claim_id from label_retractions where judgement = '{judgement}'
union
select run_id, item_id, claim_id from {labels} where not decides
