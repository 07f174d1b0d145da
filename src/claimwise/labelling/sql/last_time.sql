select max(l.labeled_at) as labeled_at
from {labels} as l
where l.run_id = :run_id
    and l.item_id = :item_id
    and l.claim_id = :claim_id
    and l.labeler = :labeler
    and l.labeled_at <= :latest
