-- Claims whose latest label by a labeler was given before :since, counted by run.
select v.run_id, count(*) as claims
from {candidate_labels} as v
where v.labeler = :labeler
    and v.labeled_at < :since
    and {no_later_label}
group by v.run_id
order by v.run_id
