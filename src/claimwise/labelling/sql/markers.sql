-- The citation markers of an answer; one that stands for several documents leads to the first of them.
select y.marker, min(y.source_id) as source_id
from citations as y
join claims as c
    on c.run_id = y.run_id and c.item_id = y.item_id and c.claim_id = y.claim_id
where y.run_id = :run_id
    and y.item_id = :item_id
    and c.sample = :sample
    and y.marker is not null
    and y.source_id is not null
group by y.marker
order by y.marker
