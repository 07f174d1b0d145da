-- tables: claims
-- A claim comes from an answer that was given, and lies inside it.
select
    s.file_no, s.line_no, 'answer_end' as field,
    coalesce(cast(s.answer_end as text), 'a claim') as found,
    case
        when a.answer_text is null then 'no claims: the system gave no answer to this item'
        else 'an offset up to ' || cast(length(a.answer_text) as text) || ', the answer''s length'
    end as expected
from subject as s
join answers as a
    on a.run_id = s.run_id and a.item_id = s.item_id and a.sample = s.sample
where a.answer_text is null or s.answer_end > length(a.answer_text)
