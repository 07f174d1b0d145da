-- Which entries hold the spans of one trace, and how long they are.
select entry_id, length(payload) as characters from traffic_inbox where trace_id = :trace_id
