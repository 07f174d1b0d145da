-- The claims of one item in one run, each with the label that decides it or why it has none.
select
    c.claim_id,
    c.claim_text,
    c.claim_type,
    d.verdict,
    b.label as fact_label,
    d.supporting_span,
    d.source_id,
    d.labeler,
    b.labeler as fact_labeler,
    (
        select max(u.reason)
        from unscored_claims as u
        where u.run_id = c.run_id and u.item_id = c.item_id and u.claim_id = c.claim_id
    ) as reason
from claims as c
left join deciding_labels as d
    on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
left join deciding_closed_book_labels as b
    on b.run_id = c.run_id and b.item_id = c.item_id and b.claim_id = c.claim_id
where c.run_id = :run_id and c.item_id = :item_id
order by c.sample, c.position, c.claim_id
