-- The labels that people gave the claims of a run and did not take back, adjudications left out:
-- an adjudicator saw the others' labels. Of a person's labels of a claim the last row counts.
select
    l.item_id as cluster_id,
    l.claim_id,
    c.claim_text,
    c.claim_type,
    l.labeler,
    l.verdict,
    l.guide_version,
    l.inclusion_probability,
    l.labeled_at
from standing_labels as l
join claims as c on c.run_id = l.run_id and c.item_id = l.item_id and c.claim_id = l.claim_id
where l.run_id = :run_id and l.label_kind = 'human'
