-- Claims of a run that a labeler gave no label, whose last failure has the reason :reason.
select f.item_id, f.claim_id, f.claim_text, f.detail
from unscored_claims as f
where f.run_id = :run_id
    and f.labeler = :labeler
    and f.judgement = :judgement
    and f.reason = :reason
    and not exists (
        select 1
        from unscored_claims as n
        where n.run_id = f.run_id
            and n.item_id = f.item_id
            and n.claim_id = f.claim_id
            and n.labeler = f.labeler
            and n.judgement = f.judgement
            and n.failed_at > f.failed_at
    )
    and not exists (
        select 1
        from {standing_labels} as l
        where l.run_id = f.run_id
            and l.item_id = f.item_id
            and l.claim_id = f.claim_id
            and l.labeler = f.labeler
    )
order by f.item_id, f.claim_id
