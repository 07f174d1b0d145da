-- The answer after this one in its run, by item and sample.
select a.item_id, a.sample
from answers as a
where a.run_id = :run_id and (a.item_id, a.sample) > (:item_id, :sample)
order by a.item_id, a.sample
limit 1
