-- The claims of some items that a labeler has judged since :since.
select distinct l.item_id, l.claim_id
from {standing_labels} as l
where l.run_id = :run_id
    and l.item_id between :first and :last
    and l.labeler = :labeler
    and l.labeled_at >= :since
