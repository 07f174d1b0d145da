-- Claims that people labelled, with their deciding verdict and, where there is one, the latest
-- verdict of one instrument. A claim it was asked about and could not judge says so in ``failed``.
select
    d.run_id,
    d.item_id,
    d.claim_id,
    d.{verdict} as told,
    d.label_kind,
    d.labeled_at,
    coalesce(d.inclusion_probability, (
        select min(h.inclusion_probability)
        from {candidate_labels} as h
        where h.run_id = d.run_id
            and h.item_id = d.item_id
            and h.claim_id = d.claim_id
            and h.label_kind <> 'verifier'
    )) as inclusion_probability,
    v.{verdict} as said,
    {confidence} as confidence,
    case when exists (
        select 1
        from unscored_claims as u
        where u.run_id = d.run_id
            and u.item_id = d.item_id
            and u.claim_id = d.claim_id
            and u.judgement = :judgement
            and u.labeler = :labeler
    ) then 1 else 0 end as failed
from {deciding_labels} as d
left join {candidate_labels} as v
    on v.run_id = d.run_id
    and v.item_id = d.item_id
    and v.claim_id = d.claim_id
    and v.labeler = :labeler
    and {no_later_label}
where d.label_kind <> 'verifier'
order by d.run_id, d.item_id, d.claim_id
