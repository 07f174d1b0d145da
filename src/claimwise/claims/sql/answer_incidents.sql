-- The test cases that were made of an answer.
select i.item_id, i.promoted_by, i.promoted_at
from incidents as i
where i.origin = 'answer' and i.place = :place
order by i.promoted_at desc
