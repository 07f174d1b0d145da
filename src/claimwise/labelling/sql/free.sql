-- A slot of a task that nobody has, or whose lease has ended: an open one first.
select s.task_id, s.slot, s.position, s.leased_until
from annotation_slots as s
where s.task_id = :task_id
    and (s.state = 'open' or (s.state = 'leased' and s.leased_until < :now))
order by s.state desc, s.slot
limit 1
