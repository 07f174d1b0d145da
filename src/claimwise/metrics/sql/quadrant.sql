-- title: Faithful × correct
-- meaning: answers to items with a gold answer, by whether every claim is supported and whether
--   they match it; an answer is unscored without a label, without claims, or if nothing is
--   unsupported but something is unscored; answers that decline are counted under abstention
--   instead
-- grain: one row per item and cell
-- role: detail
-- order: 80
-- unit: answer
-- labels: deciding_labels, deciding_answer_labels
-- needs: gold_answer, answer_labels
-- series: cell
-- note faithful_correct: supported and right, as it should be
-- note faithful_wrong: supported but wrong: the corpus is wrong, and the answer follows it
-- note unfaithful_correct: right without support: luck, and it will not last
-- note unfaithful_wrong: unsupported and wrong: retrieval or generation failed
with judged as (
    select
        c.item_id,
        c.sample,
        sum(case when d.verdict is null then 1 else 0 end) as unscored,
        sum(case when d.verdict <> 'supported' then 1 else 0 end) as unsupported
    from claims as c
    left join deciding_labels as d
        on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
    where c.run_id = :run_id and c.claim_type <> 'non_factual'
    group by c.item_id, c.sample
),

placed as (
    select
        a.item_id,
        case
            when d.labeler is null then null
            when j.unsupported > 0 and d.correct then 'unfaithful_correct'
            when j.unsupported > 0 then 'unfaithful_wrong'
            when j.unscored > 0 or j.item_id is null then null
            when d.correct then 'faithful_correct'
            else 'faithful_wrong'
        end as cell
    from answers as a
    join eval_items as e on e.item_id = a.item_id
    left join (select * from deciding_actions where run_id = :run_id) as r
        on r.run_id = a.run_id and r.item_id = a.item_id and r.sample = a.sample
    left join judged as j on j.item_id = a.item_id and j.sample = a.sample
    left join deciding_answer_labels as d
        on d.run_id = a.run_id and d.item_id = a.item_id and d.sample = a.sample
    where a.run_id = :run_id
        and e.gold_answer is not null
        and (r.action is null or r.action = 'answer')
),

cells as (
    select 'faithful_correct' as cell
    union all select 'faithful_wrong'
    union all select 'unfaithful_correct'
    union all select 'unfaithful_wrong'
)

select
    k.cell,
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(case when p.cell = k.cell then 1 else 0 end) as numerator,
    count(p.cell) as denominator,
    count(*) as asked
from placed as p
join eval_items as e on e.item_id = p.item_id
cross join cells as k
group by k.cell, e.query_type, e.stakes, e.item_id
