-- What people decided of a run's claims, and what one instrument says of them (null: nothing).
-- Their claims are gathered first: PostgreSQL then looks each up by its whole key, also before it
-- has statistics of a store that was just filled.
-- The join of the latest verdict stands in the same words in pairs.sql, run_verdicts.sql,
-- scores.sql and told.sql. A view could hold it, but a new view is a new schema, and versions
-- before it could not open the store any more.
with wanted as (
    select distinct h.run_id, h.item_id, h.claim_id
    from candidate_labels as h
    where h.run_id = :run_id and h.label_kind <> 'verifier'
)

select w.item_id, w.claim_id, d.verdict as told, v.verdict as said
from wanted as w
join deciding_labels as d
    on d.run_id = w.run_id and d.item_id = w.item_id and d.claim_id = w.claim_id
left join candidate_labels as v
    on v.run_id = w.run_id
    and v.item_id = w.item_id
    and v.claim_id = w.claim_id
    and v.labeler = :labeler
    and not exists (
        select 1
        from candidate_labels as n
        where n.run_id = v.run_id
            and n.item_id = v.item_id
            and n.claim_id = v.claim_id
            and n.labeler = v.labeler
            and n.labeled_at > v.labeled_at
    )
order by w.item_id, w.claim_id
