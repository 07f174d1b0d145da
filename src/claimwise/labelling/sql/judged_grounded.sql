-- What an instrument said of a run's claims, the latest last.
select l.item_id, l.claim_id, l.verdict, l.confidence
from standing_labels as l
where l.run_id = :run_id and l.labeler = :labeler
order by l.labeled_at
