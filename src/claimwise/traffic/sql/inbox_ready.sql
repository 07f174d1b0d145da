-- Traces that are complete: their root span has come and since :quiet_since nothing more, or they have
-- waited since :old_since. The longest waiting first.
select
    i.trace_id,
    sum(i.spans) as spans,
    sum(length(i.payload)) as characters
from traffic_inbox as i
group by i.trace_id
having (max(case when i.has_root then 1 else 0 end) = 1 and max(i.received_at) <= :quiet_since)
    or min(i.received_at) <= :old_since
order by min(i.received_at), i.trace_id
limit :most
