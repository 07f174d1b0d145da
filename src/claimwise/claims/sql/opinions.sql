-- The latest standing label of everyone who judged the claims, what decides first.
select
    m.claim_no,
    v.{verdict} as verdict,
    v.label_kind,
    v.labeler,
    {confidence} as confidence,
    {supporting_span} as supporting_span,
    {reason} as reason
from claim_index as m
join {standing_labels} as v
    on v.run_id = m.run_id and v.item_id = m.item_id and v.claim_id = m.claim_id
where m.claim_no in ({{numbers}}) and {no_later_label}
order by m.claim_no, v.label_kind, v.labeled_at desc, v.labeler
