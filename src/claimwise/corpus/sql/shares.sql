-- The golden set in numbers. Items of which only the question is known come from a measured file.
select
    count(*) as items,
    coalesce(sum(case when not e.answerable then 1 else 0 end), 0) as unanswerable,
    coalesce(sum(case when e.query_type = 'ambiguous' then 1 else 0 end), 0) as ambiguous
from eval_items as e
where (e.query_type is not null or e.answerable is not null or e.stakes is not null)
    and not exists (
        select 1 from item_retirements as t where t.item_id = e.item_id and t.restored_at is null
    )
