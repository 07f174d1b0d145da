-- Take back one decision of an adjudicator: the label stays, and no longer stands.
insert into label_retractions (
    run_id, item_id, claim_id, judgement, labeler, labeled_at, retracted_at, retracted_by
)
select
    l.run_id, l.item_id, l.claim_id, '{judgement}', l.labeler, l.labeled_at,
    :now, :labeler
from {labels} as l
where l.run_id = :run_id
    and l.item_id = :item_id
    and l.claim_id = :claim_id
    and l.labeler = :labeler
    and l.label_kind = 'adjudicated'
    and l.labeled_at = :labeled_at
on conflict do nothing
