-- The project's own columns of a system's traffic items in a window.
select i.item_id, i.name, i.value
from traffic_answers as t
join item_attributes as i on i.item_id = t.item_id
where t.system = :system and t.answered_at >= :start and t.answered_at < :until
order by i.item_id, i.name
