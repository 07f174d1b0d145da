-- A claim that the first round of a judge scored before a later round did: the later label would
-- decide. See flips.sql for how rounds are named.
select 1
from {candidate_labels} as v
where v.run_id = :run_id
    and v.labeler = :labeler
    and {no_later_label}
    and exists (
        select 1
        from {candidate_labels} as r
        where r.run_id = v.run_id
            and r.item_id = v.item_id
            and r.claim_id = v.claim_id
            and substr(r.labeler, 1, length(:labeler) + 1) = :labeler || '#'
            and r.labeled_at >= v.labeled_at
    )
limit 1
