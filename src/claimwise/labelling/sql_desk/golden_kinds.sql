-- How many items of the golden set there are of each kind; retired ones don't count, and
-- neither do questions of live traffic.
select
    coalesce(e.query_type, 'unknown') as kind,
    count(*) as items,
    sum(case when e.answerable then 0 when e.answerable is null then 0 else 1 end) as unanswerable,
    sum(case when e.expected_action is null then 0 else 1 end) as actions
from eval_items as e
where e.item_id not in (select t.item_id from item_retirements as t where t.restored_at is null)
    and e.item_id not in (select a.item_id from traffic_answers as a)
group by coalesce(e.query_type, 'unknown')
order by items desc, kind
