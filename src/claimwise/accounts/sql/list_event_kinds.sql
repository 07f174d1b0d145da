select distinct event from audit_events order by event
