-- The claims of a run, each with the label that decides it. Severity and doubt order them, worst
-- and most certain first: severity goes by verdict, doubt puts people before judges, and the more
-- confident judgement before the other.
-- A claim is disputed when people differ and nobody has adjudicated, or a judge differs from people.
with decided as (
    select
        v.item_id,
        v.claim_id,
        v.{verdict} as verdict,
        v.label_kind,
        v.labeler,
        v.labeled_at,
        {confidence} as confidence,
        {supporting_span} as supporting_span,
        {span_start} as span_start,
        {source_id} as source_id,
        {covered_text} as covered_text,
        {reason} as reason
    from {deciding_labels} as v
    where v.run_id = :run_id
),

opinions as (
    select
        v.item_id,
        v.claim_id,
        count(distinct case when v.label_kind = 'human' then v.{verdict} end) as human_verdicts,
        max(case when v.label_kind = 'adjudicated' then 1 else 0 end) as adjudicated,
        min(case when v.label_kind = 'verifier' then v.{verdict} end) as judge_verdict,
        max(case when v.label_kind = 'verifier' then v.{verdict} end) as other_judge_verdict
    from {candidate_labels} as v
    where v.run_id = :run_id and {no_later_label}
    group by v.item_id, v.claim_id
)

select
    c.item_id as cluster_id,
    c.sample,
    c.position,
    c.claim_id,
    c.claim_text,
    c.claim_type,
    c.answer_start,
    c.answer_end,
    d.verdict,
    d.label_kind,
    d.labeler,
    d.labeled_at,
    d.confidence,
    d.supporting_span,
    d.span_start,
    d.source_id,
    d.covered_text,
    d.reason,
    {severity} as severity,
    cast({doubt} as double precision) as doubt,
    case
        when o.human_verdicts > 1 and o.adjudicated = 0 then 1
        when d.label_kind <> 'verifier'
            and (o.judge_verdict <> d.verdict or o.other_judge_verdict <> d.verdict) then 1
        else 0
    end as disputed
from claims as c
left join decided as d on d.item_id = c.item_id and d.claim_id = c.claim_id
left join opinions as o on o.item_id = c.item_id and o.claim_id = c.claim_id
where c.run_id = :run_id
    and (c.claim_type <> 'non_factual' or d.verdict is not null)
