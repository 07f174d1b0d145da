-- tables: closed_book_labels unscored_claims
-- The record repeats its claim's text.
select
    s.file_no, s.line_no, 'claim_text' as field, s.claim_text as found,
    'the text of claim ' || c.claim_id as expected
from subject as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
where s.claim_text <> c.claim_text
