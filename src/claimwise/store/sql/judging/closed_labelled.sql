-- The claims of some items that a closed-book judge has labelled since :since.
select distinct l.item_id, l.claim_id
from closed_book_labels as l
where l.run_id = :run_id
    and l.item_id between :first and :last
    and l.labeler = :labeler
    and l.labeled_at >= :since
