-- Whether a trace, or its first turn, was taken in before.
select 1 from traffic_seen where trace_id = :trace_id or trace_id = :first_turn limit 1
