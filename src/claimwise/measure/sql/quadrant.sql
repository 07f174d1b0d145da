-- title: Faithful × correct
-- meaning: answers by whether every claim is supported and whether they match the gold answer;
--   an answer with neither an unsupported claim nor all claims scored is unscored
-- grain: one row per item and cell
-- unit: answer
-- series: cell
-- note faithful_correct: grounded and right: as it should be
-- note faithful_wrong: the corpus is wrong: the answer follows it
-- note unfaithful_correct: luck: right without evidence, and it will not hold
-- note unfaithful_wrong: the system: retrieval or generation failed
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
        e.item_id,
        case
            when d.labeler is null then null
            when j.unsupported > 0 and d.correct then 'unfaithful_correct'
            when j.unsupported > 0 then 'unfaithful_wrong'
            when j.unscored > 0 then null
            when d.correct then 'faithful_correct'
            else 'faithful_wrong'
        end as cell
    from judged as j
    join eval_items as e on e.item_id = j.item_id
    left join deciding_answer_labels as d
        on d.run_id = :run_id and d.item_id = j.item_id and d.sample = j.sample
    where e.gold_answer is not null
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
