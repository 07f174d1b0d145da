-- As given_grounded.sql, of labels without sources.
select
    l.item_id, l.claim_id, l.labeler, l.labeled_at, l.label as verdict, null as supporting_span,
    null as source_id, null as covered_text, l.decision_basis as reason
from closed_book_labels as l
where l.run_id = :run_id and l.label_kind = 'human'
order by l.labeled_at
