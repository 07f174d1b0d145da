-- title: Abstention
-- meaning: share of answers that decline: on unanswerable items (correct) and on answerable ones
--   (over-refusal), always shown together, so that a system that declines everything looks as bad
--   as it is; if no action is given, one is proposed from the answer's text, and the report says
--   how many are proposed
-- grain: one row per item
-- role: main
-- order: 50
-- unit: answer
-- labels: none
-- needs: answerable
-- series: measure
-- aliases: correct_abstention, over_refusal
-- better correct_abstention: higher
-- better over_refusal: lower
-- note correct_abstention: declined, and the corpus has no answer
-- note over_refusal: declined, although the corpus has the answer
with asked as (
    select a.item_id, a.sample from answers as a where a.run_id = :run_id
    union
    select r.item_id, r.sample from run_actions as r where r.run_id = :run_id
)

select
    case when e.answerable then 'over_refusal' else 'correct_abstention' end as measure,
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(case when r.action = 'abstain' then 1 else 0 end) as numerator,
    count(r.action) as denominator,
    count(*) as asked
from asked as a
join eval_items as e on e.item_id = a.item_id
left join deciding_actions as r
    on r.run_id = :run_id and r.item_id = a.item_id and r.sample = a.sample
where e.answerable is not null
group by e.answerable, e.query_type, e.stakes, e.item_id
