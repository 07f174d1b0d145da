-- tables: label_retractions
-- Only a label that was given can be taken back.
select
    s.file_no, s.line_no, 'labeled_at' as field,
    s.labeler || ' at ' || cast(s.labeled_at as text) as found,
    'a ' || s.judgement || ' label of that claim by that labeler at that time' as expected
from subject as s
where not exists (
        select 1
        from labels as l
        where s.judgement = 'grounded'
            and l.run_id = s.run_id
            and l.item_id = s.item_id
            and l.claim_id = s.claim_id
            and l.labeler = s.labeler
            and l.labeled_at = s.labeled_at
    )
    and not exists (
        select 1
        from closed_book_labels as l
        where s.judgement = 'closed_book'
            and l.run_id = s.run_id
            and l.item_id = s.item_id
            and l.claim_id = s.claim_id
            and l.labeler = s.labeler
            and l.labeled_at = s.labeled_at
    )
