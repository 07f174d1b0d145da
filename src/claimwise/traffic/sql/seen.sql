-- What became of a trace that came before, under whichever system.
select system, day, rule, outcome, inclusion_probability
from traffic_seen
where trace_id = :trace_id
