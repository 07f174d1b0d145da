-- When a labeler last said anything about a run: a label, or that it could give none.
select max(t.said_at) as said_at
from (
    select max(l.labeled_at) as said_at
    from {labels} as l
    where l.run_id = :run_id and l.labeler = :labeler
    union all
    select max(u.failed_at) as said_at
    from unscored_claims as u
    where u.run_id = :run_id and u.labeler = :labeler and u.judgement = :judgement
) as t
