-- Traces that are complete: their root span has come and since :quiet_since nothing more, or they have
-- waited since :old_since. Only the longest waiting ones are looked at, so that a full inbox costs no
-- more than an empty one.
select i.trace_id, sum(i.spans) as spans
from traffic_inbox as i
where i.trace_id in (
    select r.trace_id
    from (
        select trace_id
        from traffic_inbox
        where has_root and received_at <= :quiet_since
        order by received_at
        limit :most
    ) as r
    union
    select o.trace_id
    from (
        select trace_id from traffic_inbox where received_at <= :old_since order by received_at limit :most
    ) as o
)
group by i.trace_id
having (max(case when i.has_root then 1 else 0 end) = 1 and max(i.received_at) <= :quiet_since)
    or min(i.received_at) <= :old_since
order by min(i.received_at), i.trace_id
limit :most
