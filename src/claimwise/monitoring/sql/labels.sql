-- The claims of a system's traffic answers in a window, each with every label that stands: a claim
-- without one comes once, with nothing beside it.
select
    c.run_id,
    c.item_id,
    c.sample,
    c.claim_id,
    l.label_kind,
    l.verdict,
    l.confidence,
    l.labeler,
    l.labeled_at,
    l.inclusion_probability
from traffic_answers as t
join claims as c on c.run_id = t.run_id and c.item_id = t.item_id and c.sample = t.sample
left join standing_labels as l
    on l.run_id = c.run_id
    and l.item_id = c.item_id
    and l.claim_id = c.claim_id
    and l.labeled_at <= :now
where t.system = :system and t.answered_at >= :start and t.answered_at < :until
    and c.claim_type <> 'non_factual'
order by c.run_id, c.item_id, c.claim_id, l.labeled_at, l.labeler
