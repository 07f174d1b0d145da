-- What people decided of a run's claims, by the rule of deciding_labels, in the order in which claims.sql
-- numbers them, with the probability with which each claim was drawn.
with said as (
    select
        h.item_id, h.claim_id, h.verdict, h.labeled_at,
        row_number() over (
            partition by h.item_id, h.claim_id order by h.label_kind, h.labeled_at desc, h.labeler
        ) as priority,
        min(h.inclusion_probability) over (partition by h.item_id, h.claim_id) as chance,
        min(h.labeled_at) over (partition by h.item_id, h.claim_id) as first_labeled_at
    from {standing_labels} as h
    where h.run_id = :run_id and h.label_kind <> 'verifier'
)

select s.verdict, s.labeled_at, s.first_labeled_at, s.chance, s.item_id, s.claim_id
from said as s
where s.priority = 1
order by s.item_id, s.claim_id
