-- tables: labels
-- A label repeats its claim's text and type, and no one judges a claim that asserts no fact.
select
    s.file_no, s.line_no,
    case
        when s.claim_text <> c.claim_text then 'claim_text'
        else 'claim_type'
    end as field,
    case
        when s.claim_text <> c.claim_text then s.claim_text
        when s.claim_type <> c.claim_type then s.claim_type
        else 'a label on a non_factual claim'
    end as found,
    case
        when s.claim_text <> c.claim_text then 'the text of claim ' || c.claim_id
        when s.claim_type <> c.claim_type then 'the claim''s type, ' || c.claim_type
        else 'no grounded label: there is nothing to support'
    end as expected
from subject as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
where s.claim_text <> c.claim_text
    or s.claim_type <> c.claim_type
    or c.claim_type = 'non_factual'
