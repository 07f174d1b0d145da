-- Every verdict that a judge ever gave on the anchors: claims of a run that people have labelled.
select c.item_id, c.claim_id, j.labeler, j.labeled_at, j.verdict
from claims as c
join labels as j
    on j.run_id = c.run_id
    and j.item_id = c.item_id
    and j.claim_id = c.claim_id
    and j.label_kind = 'verifier'
    and j.labeled_at <= :now
where c.run_id = :run_id
    and exists (
        select 1
        from standing_labels as p
        where p.run_id = c.run_id
            and p.item_id = c.item_id
            and p.claim_id = c.claim_id
            and p.label_kind in ('adjudicated', 'human')
    )
order by j.labeled_at, c.item_id, c.claim_id
