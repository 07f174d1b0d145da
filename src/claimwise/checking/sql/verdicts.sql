-- How a labeler has judged a run: one row per verdict, each claim by its latest label.
select v.{verdict}, count(*) as claims
from {candidate_labels} as v
where v.run_id = :run_id
    and v.labeler = :labeler
    and {no_later_label}
group by v.{verdict}
