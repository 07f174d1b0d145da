-- As grounded.sql, of labels without sources.
select
    l.item_id as cluster_id,
    l.claim_id,
    c.claim_text,
    c.claim_type,
    l.labeler,
    l.label as verdict,
    l.guide_version,
    l.inclusion_probability,
    l.labeled_at
from standing_closed_book_labels as l
join claims as c on c.run_id = l.run_id and c.item_id = l.item_id and c.claim_id = l.claim_id
where l.run_id = :run_id and l.label_kind = 'human'
