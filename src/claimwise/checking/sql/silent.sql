-- Claims of a run whose latest label by a labeler gives :reason for it.
select count(*) as claims
from {candidate_labels} as v
where v.run_id = :run_id
    and v.labeler = :labeler
    and v.reason = :reason
    and {no_later_label}
