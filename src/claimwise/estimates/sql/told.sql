-- What people decided of a run's claims in a window, by the rule of deciding_labels, with each claim's
-- place among those that claims.sql returns, and the probability with which it was drawn.
with placed as (
    select
        c.item_id, c.claim_id,
        row_number() over (order by c.item_id, c.claim_id) - 1 as place
    from claims as c
    join traffic_answers as t
        on t.run_id = c.run_id and t.item_id = c.item_id and t.sample = c.sample
    where c.run_id = :run_id
        and c.claim_type <> 'non_factual'
        and t.answered_at >= :start
        and t.answered_at < :until
),

said as (
    select
        h.item_id, h.claim_id, h.verdict, h.labeled_at,
        row_number() over (
            partition by h.item_id, h.claim_id order by h.label_kind, h.labeled_at desc, h.labeler
        ) as priority,
        min(h.inclusion_probability) over (partition by h.item_id, h.claim_id) as chance,
        min(h.labeled_at) over (partition by h.item_id, h.claim_id) as first_labeled_at
    from standing_labels as h
    where h.run_id = :run_id and h.label_kind <> 'verifier'
)

select p.place, s.verdict, s.labeled_at, s.first_labeled_at, s.chance, s.item_id, s.claim_id
from said as s
join placed as p on p.item_id = s.item_id and p.claim_id = s.claim_id
where s.priority = 1
order by p.place
