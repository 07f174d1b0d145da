-- What a run did with one item: its action, or why there is no answer.
select a.sample, r.action, a.failure
from answers as a
left join deciding_actions as r
    on r.run_id = a.run_id and r.item_id = a.item_id and r.sample = a.sample
where a.run_id = :run_id and a.item_id = :item_id
order by a.sample
