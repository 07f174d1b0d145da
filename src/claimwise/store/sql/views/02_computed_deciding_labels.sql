-- What deciding_labels must contain, by comparing labels: adjudicated, then human, then verifier (the
-- kinds sort that way by their names), then the latest, then by the labeler's name.
-- A label decides if there is no better one; claims with one label cost one key lookup.
select l.*
from candidate_labels as l
where not exists (
    select 1
    from candidate_labels as b
    where b.run_id = l.run_id
        and b.item_id = l.item_id
        and b.claim_id = l.claim_id
        and (
            b.label_kind < l.label_kind
            or (b.label_kind = l.label_kind and b.labeled_at > l.labeled_at)
            or (b.label_kind = l.label_kind and b.labeled_at = l.labeled_at and b.labeler < l.labeler)
        )
)
