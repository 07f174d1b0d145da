-- The documents that a claim cites, in the order of its citations.
select y.source_id
from citations as y
where y.run_id = :run_id
    and y.item_id = :item_id
    and y.claim_id = :claim_id
    and y.source_id is not null
order by y.position
