-- What each person says of a claim, by their latest label: people among themselves, so without
-- adjudications.
select h.run_id, h.item_id, h.claim_id, h.guide_version, h.{verdict}
from {candidate_labels} as h
where h.label_kind = 'human'
    and not exists (
        select 1
        from {candidate_labels} as n
        where n.run_id = h.run_id
            and n.item_id = h.item_id
            and n.claim_id = h.claim_id
            and n.labeler = h.labeler
            and n.label_kind = 'human'
            and n.labeled_at > h.labeled_at
    )
order by h.run_id, h.item_id, h.claim_id, h.labeler
