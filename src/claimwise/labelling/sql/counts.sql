-- How far a round is: slots by state.
select s.state, count(*) as slots
from annotation_slots as s
where s.round_id = :round_id
group by s.state
