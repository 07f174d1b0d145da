-- How sure an instrument is of its latest verdicts on a run's claims: by domain, verdict and
-- confidence to three places, so that what comes back does not grow with the run.
select i.domain, v.{verdict}, avg(v.confidence), count(*)
from {candidate_labels} as v
join eval_items as i on i.item_id = v.item_id
where v.run_id = :run_id
    and v.labeler = :labeler
    and v.label_kind = 'verifier'
    and {no_later_label}
group by i.domain, v.{verdict}, round(v.confidence * 1000)
order by i.domain, v.{verdict}, avg(v.confidence)
