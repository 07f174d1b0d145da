-- What some items ask, and their first answers in a run.
select i.item_id, i.query, a.answer_text, coalesce(a.sample, 0)
from eval_items as i
left join answers as a
    on a.run_id = :run_id
    and a.item_id = i.item_id
    and a.sample = (
        select min(f.sample) from answers as f where f.run_id = :run_id and f.item_id = i.item_id
    )
where i.item_id in ({items})
