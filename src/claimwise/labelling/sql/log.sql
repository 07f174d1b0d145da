-- The action log of an answer.
select g.entry_id, g.entry_text, g.logged_at
from action_log as g
where g.run_id = :run_id and g.item_id = :item_id and g.sample = :sample
order by g.logged_at, g.entry_id
