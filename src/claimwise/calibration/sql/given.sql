-- The labels of one instrument on a run, with the domains that say which calibration is theirs.
select l.item_id, l.claim_id, l.labeled_at, l.verdict, l.confidence, i.domain
from standing_labels as l
join eval_items as i on i.item_id = l.item_id
where l.run_id = :run_id and l.labeler = :labeler and l.label_kind = 'verifier'
order by l.item_id, l.claim_id, l.labeled_at
