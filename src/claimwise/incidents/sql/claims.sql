-- The claims of one answer, in order, each with the label that decides it, if there is one.
select c.claim_id, c.claim_text, c.claim_type, d.verdict, d.labeler, d.label_kind, d.reason
from claims as c
left join deciding_labels as d
    on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
where c.run_id = :run_id and c.item_id = :item_id and c.sample = :sample
order by c.position, c.claim_id
