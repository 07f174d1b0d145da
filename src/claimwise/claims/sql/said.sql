-- Whether someone's latest standing label of a claim m is one that is asked for, whoever decides. A
-- score is the confidence that the claim is supported.
exists (
    select 1
    from {standing_labels} as v
    where v.run_id = m.run_id
        and v.item_id = m.item_id
        and v.claim_id = m.claim_id
        and v.labeler = :said_by
        and {no_later_label}
        and ({{any_verdict}} or v.{verdict} in ({{verdicts}}))
        and ({{any_score}} or (
            case when v.{verdict} in ('supported', 'true') then {confidence} else 1 - {confidence} end
        ) between {{low}} and {{high}})
)
