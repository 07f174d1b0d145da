-- The instruments that judged a claim which people labelled too. People label few claims of many:
-- start from those.
select distinct v.labeler
from {candidate_labels} as h
cross join {candidate_labels} as v
where h.label_kind <> 'verifier'
    and v.run_id = h.run_id
    and v.item_id = h.item_id
    and v.claim_id = h.claim_id
    and v.label_kind = 'verifier'
order by v.labeler
