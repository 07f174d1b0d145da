-- All that was ever said of an answer's claims in a way of judging, the latest first.
select
    v.claim_id, v.labeled_at, v.{verdict} as verdict, v.label_kind, v.labeler,
    {confidence} as confidence, {supporting_span} as evidence, {span_start} as evidence_start,
    {source_id} as source_id, {covered_text} as covered_text, {reason} as reason, v.guide_version,
    w.model, w.prompt_ver, t.retracted_at, t.retracted_by
from claims as c
join {labels} as v on v.run_id = c.run_id and v.item_id = c.item_id and v.claim_id = c.claim_id
join labelers as w on w.labeler = v.labeler
left join label_retractions as t
    on t.run_id = v.run_id
    and t.item_id = v.item_id
    and t.claim_id = v.claim_id
    and t.judgement = '{judgement}'
    and t.labeler = v.labeler
    and t.labeled_at = v.labeled_at
where c.run_id = :run_id and c.item_id = :item_id and c.sample = :sample
order by v.labeled_at desc, v.labeler
