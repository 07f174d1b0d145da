-- Which entries hold the spans of one trace.
select entry_id from traffic_inbox where trace_id = :trace_id
