-- What people decided of a run's claims, and what one instrument says of them (null: nothing).
-- Their claims are gathered first: PostgreSQL then looks each up by its whole key, also before it
-- has statistics of a store that was just filled.
with wanted as (
    select distinct h.run_id, h.item_id, h.claim_id
    from {candidate_labels} as h
    where h.run_id = :run_id and h.label_kind <> 'verifier'
)

select w.item_id, w.claim_id, d.{verdict} as told, v.{verdict} as said
from wanted as w
join {deciding_labels} as d
    on d.run_id = w.run_id and d.item_id = w.item_id and d.claim_id = w.claim_id
left join {candidate_labels} as v
    on v.run_id = w.run_id
    and v.item_id = w.item_id
    and v.claim_id = w.claim_id
    and v.labeler = :labeler
    and {no_later_label}
order by w.item_id, w.claim_id
