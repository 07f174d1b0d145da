-- tables: labels
-- The part of a claim that an overreach's span covers stands in the claim, and is not all of it.
select
    s.file_no, s.line_no, 'covered_text' as field, s.covered_text as found,
    case
        when s.covered_text = c.claim_text then 'a part of the claim, not all of it'
        else 'a part of the claim, letter by letter'
    end as expected
from subject as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
where s.covered_text is not null
    and (s.covered_text = c.claim_text or strpos(c.claim_text, s.covered_text) = 0)
