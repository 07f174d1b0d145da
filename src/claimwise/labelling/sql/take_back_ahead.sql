-- Take back what would outrank a label given now, as it is dated ahead of it: a person's own labels
-- of the claim, and for an adjudicator everybody's decisions.
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
    and l.label_kind = :kind
    and l.labeled_at > :latest
    and (l.labeler = :labeler or l.label_kind = 'adjudicated')
on conflict do nothing
