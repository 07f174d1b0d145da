-- What a person holds in a round, in the order in which it was leased; a lease that has ended is
-- still theirs until someone else takes it. Few slots are leased, a person's labels are many: the
-- condition on the labeler is written so that the search starts from the state.
select s.task_id, s.slot, s.position, s.leased_until
from annotation_slots as s
where s.round_id = :round_id and s.state = 'leased' and coalesce(s.labeler, '') = :labeler
order by s.leased_until, s.position
