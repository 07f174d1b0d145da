-- The runs of a window of traffic: how many answers each has in it, and when they were given.
select t.run_id, t.system, count(*), min(t.answered_at), max(t.answered_at)
from traffic_answers as t
where t.answered_at >= :start
    and t.answered_at < :until
    and (:system = '' or t.system = :system)
group by t.run_id, t.system
order by min(t.answered_at), t.run_id
