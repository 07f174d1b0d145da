-- How many spans wait.
select coalesce(sum(spans), 0) as spans from traffic_inbox
