-- The newest runs of every system, the latest first, and how many each system has in all.
select r.run_id, r.system, r.model, r.prompt_ver, r.corpus_ver, r.started_at, r.runs
from (
    select
        n.*,
        row_number() over (partition by n.system order by n.started_at desc, n.run_id) as place,
        count(*) over (partition by n.system) as runs
    from runs as n
) as r
where r.place <= :most
order by r.started_at desc, r.run_id
