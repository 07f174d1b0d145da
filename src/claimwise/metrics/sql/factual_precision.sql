-- title: Factual precision
-- meaning: closed-book: true claims divided by true and false ones; claims that are unverifiable, or
--   non-factual by label or type, don't count, and without a true or false claim there is no rate
-- grain: one row per item
-- role: main
-- order: 20
-- unit: claim
-- labels: deciding_closed_book_labels
-- needs: closed_book_labels
-- better: higher
with judged as (
    select
        d.item_id,
        sum(case when d.label = 'true' then 1 else 0 end) as true_claims,
        sum(case when d.label in ('true', 'false') then 1 else 0 end) as decided,
        count(*) as scored
    from deciding_closed_book_labels as d
    join claims as c
        on c.run_id = d.run_id and c.item_id = d.item_id and c.claim_id = d.claim_id
    where d.run_id = :run_id and c.claim_type <> 'non_factual'
    group by d.item_id
),

failed as (
    select u.item_id, count(distinct u.claim_id) as failed
    from unscored_claims as u
    join claims as c
        on c.run_id = u.run_id and c.item_id = u.item_id and c.claim_id = u.claim_id
    left join deciding_closed_book_labels as d
        on d.run_id = u.run_id and d.item_id = u.item_id and d.claim_id = u.claim_id
    where u.run_id = :run_id
        and u.judgement = 'closed_book'
        and c.claim_type <> 'non_factual'
        and d.claim_id is null
    group by u.item_id
)

select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    coalesce(j.true_claims, 0) as numerator,
    coalesce(j.decided, 0) as denominator,
    coalesce(j.scored, 0) as scored,
    coalesce(j.scored, 0) + coalesce(f.failed, 0) as asked
from eval_items as e
left join judged as j on j.item_id = e.item_id
left join failed as f on f.item_id = e.item_id
where j.item_id is not null or f.item_id is not null
