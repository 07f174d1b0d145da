-- The newest runs of every system, the latest first, and how many each system has in all. Days of live
-- traffic only of systems that have no other run, and after all others: the monitor is about them.
select r.run_id, r.system, r.model, r.prompt_ver, r.corpus_ver, r.started_at, r.runs
from (
    select
        n.*,
        row_number() over (partition by n.system order by n.started_at desc, n.run_id) as place,
        count(*) over (partition by n.system) as runs
    from (
        select k.*, min(k.is_traffic) over (partition by k.system) as has_traffic_alone
        from (
            select
                a.*,
                case
                    when exists (select 1 from traffic_answers as t where t.run_id = a.run_id) then 1
                    else 0
                end as is_traffic
            from runs as a
        ) as k
    ) as n
    where n.is_traffic = n.has_traffic_alone
) as r
where r.place <= :most
order by r.is_traffic, r.started_at desc, r.run_id
