-- Remembers a trace; one that another process remembers already changes nothing.
insert into traffic_seen (system, trace_id, day, rule, outcome, reason, inclusion_probability)
values (:system, :trace_id, :day, :rule, :outcome, :reason, :inclusion_probability)
on conflict do nothing
