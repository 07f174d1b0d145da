-- tables: labels closed_book_labels answer_labels
-- A judge's label is a verifier's; people label and adjudicate.
select
    s.file_no, s.line_no, 'label_kind' as field, s.label_kind || ' by ' || s.labeler as found,
    case
        when p.labeler_kind = 'verifier' then 'verifier: ' || s.labeler || ' is a judge'
        else 'human or adjudicated: ' || s.labeler || ' is a person (labelers.jsonl may say otherwise)'
    end as expected
from subject as s
join labelers as p on p.labeler = s.labeler
where (p.labeler_kind = 'verifier') <> (s.label_kind = 'verifier')
