-- Why a judge could not score claims of a run.
select u.reason, count(distinct u.item_id || ' ' || u.claim_id)
from unscored_claims as u
where u.run_id = :run_id and u.labeler = :labeler and u.judgement = 'grounded'
    and not exists (
        select 1
        from standing_labels as v
        where v.run_id = u.run_id
            and v.item_id = u.item_id
            and v.claim_id = u.claim_id
            and v.labeler = u.labeler
    )
group by u.reason
