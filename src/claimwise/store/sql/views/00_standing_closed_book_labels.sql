-- All closed-book labels that are not retracted; see standing_labels.
select {closed_book_label_columns}
from closed_book_labels as l
where not exists (select 1 from label_retractions as n where n.judgement = 'closed_book')
    or not exists (
        select 1
        from label_retractions as t
        where t.run_id = l.run_id
            and t.item_id = l.item_id
            and t.claim_id = l.claim_id
            and t.judgement = 'closed_book'
            and t.labeler = l.labeler
            and t.labeled_at = l.labeled_at
    )
