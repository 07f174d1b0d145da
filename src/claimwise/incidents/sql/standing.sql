-- Every incident: what its item asks, whether gold spans are missing, and the latest run that
-- answered the item. An item that the corpus can't answer has no spans to be filled in.
select
    i.incident_id,
    e.query,
    case when e.answerable and not exists (
        select 1 from gold_spans as g where g.item_id = i.item_id
    ) then 'needs spans' else 'ready' end as state,
    (
        select r.run_id
        from answers as a
        join runs as r on r.run_id = a.run_id
        where a.item_id = i.item_id
        order by r.started_at desc, r.run_id
        limit 1
    ) as asked_in
from incidents as i
join eval_items as e on e.item_id = i.item_id
order by i.promoted_at desc, i.incident_id
