-- title: Answer correctness
-- meaning: share of labelled answers that match the gold answer, over items that have one; answers
--   that decline are counted under abstention instead
-- grain: one row per item
-- role: main
-- order: 70
-- unit: answer
-- labels: deciding_answer_labels
-- needs: gold_answer, answer_labels
-- better: higher
select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(case when d.correct then 1 else 0 end) as numerator,
    count(d.labeler) as denominator,
    count(*) as asked
from answers as a
join eval_items as e on e.item_id = a.item_id
left join (select * from deciding_actions where run_id = :run_id) as r
    on r.run_id = a.run_id and r.item_id = a.item_id and r.sample = a.sample
left join deciding_answer_labels as d
    on d.run_id = a.run_id and d.item_id = a.item_id and d.sample = a.sample
where a.run_id = :run_id
    and e.gold_answer is not null
    and (r.action is null or r.action = 'answer')
group by e.query_type, e.stakes, e.item_id
