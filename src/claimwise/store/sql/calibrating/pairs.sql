-- Claims that people labelled, with their deciding verdict and, where there is one, the latest
-- verdict of one instrument. A claim it was asked about and could not judge says so in ``failed``.
-- The join of the latest verdict stands in the same words in pairs.sql, run_verdicts.sql,
-- scores.sql and told.sql. A view could hold it, but a new view is a new schema, and versions
-- before it could not open the store any more.
select
    d.run_id,
    d.item_id,
    d.claim_id,
    d.verdict as told,
    d.label_kind,
    d.labeled_at,
    coalesce(d.inclusion_probability, (
        select min(h.inclusion_probability)
        from candidate_labels as h
        where h.run_id = d.run_id
            and h.item_id = d.item_id
            and h.claim_id = d.claim_id
            and h.label_kind <> 'verifier'
    )) as inclusion_probability,
    v.verdict as said,
    v.confidence,
    case when exists (
        select 1
        from unscored_claims as u
        where u.run_id = d.run_id
            and u.item_id = d.item_id
            and u.claim_id = d.claim_id
            and u.judgement = :judgement
            and u.labeler = :labeler
    ) then 1 else 0 end as failed
from deciding_labels as d
left join candidate_labels as v
    on v.run_id = d.run_id
    and v.item_id = d.item_id
    and v.claim_id = d.claim_id
    and v.labeler = :labeler
    and not exists (
        select 1
        from candidate_labels as n
        where n.run_id = v.run_id
            and n.item_id = v.item_id
            and n.claim_id = v.claim_id
            and n.labeler = v.labeler
            and n.labeled_at > v.labeled_at
    )
where d.label_kind <> 'verifier'
order by d.run_id, d.item_id, d.claim_id
