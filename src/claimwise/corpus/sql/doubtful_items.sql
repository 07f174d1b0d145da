-- Items of the golden set that look like mistakes: what is wrong, and which.
with counted as (
    select e.*
    from eval_items as e
    where not exists (
        select 1 from item_retirements as t where t.item_id = e.item_id and t.restored_at is null
    )
)

select 'gold_answer' as doubt, e.item_id
from counted as e
where not e.answerable and coalesce(e.gold_answer, '') <> ''
union all
select 'marked_answerable' as doubt, e.item_id
from counted as e
where e.query_type = 'unanswerable' and e.answerable
union all
select 'no_spans' as doubt, e.item_id
from counted as e
where e.answerable
    and not exists (select 1 from gold_spans as g where g.item_id = e.item_id and g.required)
order by doubt, item_id
