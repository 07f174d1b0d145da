-- What an instrument said of a run's claims without sources, the latest last.
select l.item_id, l.claim_id, l.label, null as confidence
from standing_closed_book_labels as l
where l.run_id = :run_id and l.labeler = :labeler
order by l.labeled_at
