-- Claims of traffic that people labelled and a judge scored: its verdict and how sure it was, what people
-- said, and the probability with which the claim was drawn.
select h.item_id, v.verdict, v.confidence, h.verdict, h.inclusion_probability
from standing_labels as h
join traffic_answers as t on t.run_id = h.run_id and t.item_id = h.item_id
join standing_labels as v
    on v.run_id = h.run_id
    and v.item_id = h.item_id
    and v.claim_id = h.claim_id
    and v.labeler = :labeler
where h.label_kind <> 'verifier'
    and v.confidence is not null
    and t.answered_at >= :start
    and t.answered_at < :until
    and (:system = '' or t.system = :system)
