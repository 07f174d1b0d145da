-- What people have decided of a run's claims.
select l.item_id, l.claim_id, l.{verdict}
from {deciding_labels} as l
where l.run_id = :run_id and l.label_kind <> 'verifier'
