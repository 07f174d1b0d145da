-- title: What the run was asked
-- meaning: answers of each item, and those of which no claim is stored: nothing of them was judged
-- grain: one row per item
-- unit: answer
with asked as (
    select a.item_id, a.sample from answers as a where a.run_id = :run_id
    union
    select r.item_id, r.sample from run_actions as r where r.run_id = :run_id
)

select
    q.item_id as cluster_id,
    sum(
        case
            when a.answer_text is not null
                and (r.action is null or r.action = 'answer')
                and not exists (
                    select 1
                    from claims as c
                    where c.run_id = :run_id and c.item_id = q.item_id and c.sample = q.sample
                ) then 1
            else 0
        end
    ) as numerator,
    count(*) as denominator
from asked as q
left join answers as a
    on a.run_id = :run_id and a.item_id = q.item_id and a.sample = q.sample
left join run_actions as r
    on r.run_id = :run_id and r.item_id = q.item_id and r.sample = q.sample
group by q.item_id
