-- The spans of one trace, in the order in which they came.
select entry_id, payload from traffic_inbox where trace_id = :trace_id order by received_at, entry_id
