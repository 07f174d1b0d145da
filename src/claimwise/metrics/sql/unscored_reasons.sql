-- title: Unscored claims by reason
-- meaning: share of the claims to be judged that have no verdict, by the reason of the last failure
-- grain: one row per item and reason
-- role: measurement
-- order: 120
-- unit: claim
-- labels: none
-- better: lower
-- series: reason
-- note no_label: not judged by anyone
with asked as (
    select c.item_id, count(*) as asked
    from claims as c
    where c.run_id = :run_id and c.claim_type <> 'non_factual'
    group by c.item_id
),

open_claims as (
    select c.item_id, c.claim_id
    from claims as c
    left join deciding_labels as d
        on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
    where c.run_id = :run_id and c.claim_type <> 'non_factual' and d.claim_id is null
),

last_failures as (
    select u.item_id, u.claim_id, min(u.reason) as reason
    from unscored_claims as u
    where u.run_id = :run_id
        and u.judgement = 'grounded'
        and u.failed_at = (
            select max(x.failed_at)
            from unscored_claims as x
            where x.run_id = u.run_id
                and x.item_id = u.item_id
                and x.claim_id = u.claim_id
                and x.judgement = 'grounded'
        )
    group by u.item_id, u.claim_id
),

counted as (
    select o.item_id, coalesce(f.reason, 'no_label') as reason, count(*) as unscored
    from open_claims as o
    left join last_failures as f on f.item_id = o.item_id and f.claim_id = o.claim_id
    group by o.item_id, coalesce(f.reason, 'no_label')
),

reasons as (
    select distinct reason from counted
)

select
    r.reason,
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    coalesce(k.unscored, 0) as numerator,
    a.asked as denominator,
    a.asked
from asked as a
join eval_items as e on e.item_id = a.item_id
cross join reasons as r
left join counted as k on k.item_id = a.item_id and k.reason = r.reason
