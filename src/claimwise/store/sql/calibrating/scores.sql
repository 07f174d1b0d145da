-- How sure an instrument is of its latest verdicts on a run's claims: by domain, verdict and
-- confidence to three places, so that what comes back does not grow with the run.
-- The join of the latest verdict stands in the same words in pairs.sql, run_verdicts.sql,
-- scores.sql and told.sql. A view could hold it, but a new view is a new schema, and versions
-- before it could not open the store any more.
select i.domain, v.verdict, avg(v.confidence), count(*)
from candidate_labels as v
join eval_items as i on i.item_id = v.item_id
where v.run_id = :run_id
    and v.labeler = :labeler
    and v.label_kind = 'verifier'
    and not exists (
        select 1
        from candidate_labels as n
        where n.run_id = v.run_id
            and n.item_id = v.item_id
            and n.claim_id = v.claim_id
            and n.labeler = v.labeler
            and n.labeled_at > v.labeled_at
    )
group by i.domain, v.verdict, round(v.confidence * 1000)
order by i.domain, v.verdict, avg(v.confidence)
