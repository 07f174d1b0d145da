-- What the system was given for the items from :first to :last.
select c.item_id, c.sample, c.source_id, c.context_text
from contexts as c
where c.run_id = :run_id and c.item_id between :first and :last
order by c.item_id, c.sample, c.position
