-- The run of the same system that started last before a run, of its kind: live traffic or not.
select b.run_id
from runs as r
join runs as b on b.system = r.system and b.started_at < r.started_at
where r.run_id = :run_id
    and exists (select 1 from traffic_answers as t where t.run_id = b.run_id)
    = exists (select 1 from traffic_answers as o where o.run_id = r.run_id)
order by b.started_at desc, b.run_id desc
limit 1
