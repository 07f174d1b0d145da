-- The claims of a run's answers in a window, in the order of items and claims: the number of each one's
-- answer; whether the judge's latest verdict is “supported” (1) or another one (0), and how sure it is;
-- whether it was asked and could not say (1); and the number of people's label on it, as in told.sql.
-- Numbers alone, so that millions can be read as columns.
with answered as (
    select t.item_id, t.sample, row_number() over (order by t.item_id, t.sample) - 1 as number
    from traffic_answers as t
    where t.run_id = :run_id and t.answered_at >= :start and t.answered_at < :until
),

said as (
    select
        v.item_id, v.claim_id, v.verdict, v.confidence, v.labeled_at,
        max(v.labeled_at) over (partition by v.item_id, v.claim_id) as latest
    from {standing_labels} as v
    where v.run_id = :run_id and v.labeler = :labeler and v.label_kind = 'verifier'
),

told as (
    select
        h.item_id, h.claim_id,
        row_number() over (order by h.item_id, h.claim_id) - 1 as number
    from {standing_labels} as h
    where h.run_id = :run_id and h.label_kind <> 'verifier'
    group by h.item_id, h.claim_id
),

failed as (
    select distinct u.item_id, u.claim_id
    from unscored_claims as u
    where u.run_id = :run_id and u.labeler = :labeler and u.judgement = 'grounded'
)

select
    a.number,
    case when s.verdict is null then null when s.verdict = 'supported' then 1 else 0 end as approved,
    s.confidence,
    case when f.claim_id is null then 0 else 1 end as failed,
    t.number as label
from claims as c
join answered as a on a.item_id = c.item_id and a.sample = c.sample
left join said as s
    on s.item_id = c.item_id
    and s.claim_id = c.claim_id
    and s.labeled_at = s.latest
left join failed as f on f.item_id = c.item_id and f.claim_id = c.claim_id
left join told as t on t.item_id = c.item_id and t.claim_id = c.claim_id
where c.run_id = :run_id and c.claim_type <> 'non_factual'
order by c.item_id, c.claim_id
