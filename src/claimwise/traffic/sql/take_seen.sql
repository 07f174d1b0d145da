-- A trace that sampling left out is taken after all: a higher rate was asked for.
update traffic_seen
set rule = :rule, outcome = 'sampled', inclusion_probability = :inclusion_probability
where system = :system and trace_id = :trace_id and outcome = 'left_out'
