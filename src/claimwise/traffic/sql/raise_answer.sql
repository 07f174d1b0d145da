-- A stored answer whose trace was offered to a rule with a higher rate than before.
update traffic_answers
set rule = :rule, inclusion_probability = :inclusion_probability
where system = :system and trace_id = :trace_id and inclusion_probability < :inclusion_probability
