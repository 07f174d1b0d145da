-- Slots that people are on now; leases that have ended don't count.
select count(*) as slots
from annotation_slots as s
where s.round_id = :round_id and s.state = 'leased' and s.leased_until >= :now
