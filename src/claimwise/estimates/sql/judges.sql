-- How many verdicts each judge gave in the runs of a window, by run.
select v.run_id, v.labeler, count(*)
from {standing_labels} as v
where v.label_kind = 'verifier'
    and v.run_id in (
        select t.run_id
        from traffic_answers as t
        where t.answered_at >= :start
            and t.answered_at < :until
            and (:system = '' or t.system = :system)
    )
group by v.run_id, v.labeler
