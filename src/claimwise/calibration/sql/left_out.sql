-- Claims that people had labelled when a round was drawn and that it did not draw. A round that
-- leaves labelled claims out has them in no stratum. The earliest labels come first.
select h.item_id, h.claim_id
from {candidate_labels} as h
join claims as c on c.run_id = h.run_id and c.item_id = h.item_id and c.claim_id = h.claim_id
where h.run_id = :run_id
    and h.label_kind <> 'verifier'
    and h.labeled_at < :created_at
    and c.claim_type <> 'non_factual'
    and not exists (
        select 1
        from annotation_tasks as t
        where t.round_id = :round_id
            and t.run_id = h.run_id
            and t.item_id = h.item_id
            and t.claim_id = h.claim_id
    )
group by h.item_id, h.claim_id
order by min(h.labeled_at), h.item_id, h.claim_id
