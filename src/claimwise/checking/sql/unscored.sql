-- Claims of a run that a labeler gave no verdict, by the reason of its last failure.
select coalesce(u.reason, 'not_judged') as reason, count(*) as claims
from claims as c
left join (
    select f.item_id, f.claim_id, min(f.reason) as reason
    from unscored_claims as f
    where f.run_id = :run_id
        and f.labeler = :labeler
        and f.judgement = :judgement
        and f.failed_at = (
            select max(x.failed_at)
            from unscored_claims as x
            where x.run_id = f.run_id
                and x.item_id = f.item_id
                and x.claim_id = f.claim_id
                and x.labeler = f.labeler
                and x.judgement = :judgement
        )
    group by f.item_id, f.claim_id
) as u on u.item_id = c.item_id and u.claim_id = c.claim_id
where c.run_id = :run_id
    and c.claim_type <> 'non_factual'
    and not exists (
        select 1
        from {standing_labels} as l
        where l.run_id = c.run_id
            and l.item_id = c.item_id
            and l.claim_id = c.claim_id
            and l.labeler = :labeler
    )
group by coalesce(u.reason, 'not_judged')
