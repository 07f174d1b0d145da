-- All labels that are not retracted. Most stores have no retractions: the first condition is looked up
-- once, and then no label is looked up.
select {label_columns}
from labels as l
where not exists (select 1 from label_retractions as n where n.judgement = 'grounded')
    or not exists (
        select 1
        from label_retractions as t
        where t.run_id = l.run_id
            and t.item_id = l.item_id
            and t.claim_id = l.claim_id
            and t.judgement = 'grounded'
            and t.labeler = l.labeler
            and t.labeled_at = l.labeled_at
    )
