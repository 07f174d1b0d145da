-- Runs with answers to questions that have a gold answer: how many, and how many a person has labelled.
select
    r.run_id, r.system, r.started_at, count(*) as answers,
    sum(
        case
            when exists (
                select 1
                from answer_labels as l
                where l.run_id = a.run_id
                    and l.item_id = a.item_id
                    and l.sample = a.sample
                    and l.labeler = :labeler
            ) then 1
            else 0
        end
    ) as mine
from runs as r
join answers as a on a.run_id = r.run_id
join eval_items as e on e.item_id = a.item_id
where a.answer_text is not null
    and e.gold_answer is not null
    and strpos(lower(r.run_id || ' ' || r.system), lower(:words)) > 0
group by r.run_id, r.system, r.started_at
order by r.started_at desc, r.run_id
limit :most
