-- The tasks of a round with what people decided (null: nobody has yet) and what the instrument
-- said; and, without a stratum, claims of the run that people had labelled before the round was
-- drawn, which it therefore left out.
with wanted as (
    select t.run_id, t.item_id, t.claim_id, t.stratum
    from annotation_tasks as t
    where t.round_id = :round_id
    union all
    select distinct h.run_id, h.item_id, h.claim_id, cast(null as text) as stratum
    from candidate_labels as h
    join claims as c
        on c.run_id = h.run_id and c.item_id = h.item_id and c.claim_id = h.claim_id
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
)

select w.item_id, w.stratum, d.verdict as told, v.verdict as said
from wanted as w
left join deciding_labels as d
    on d.run_id = w.run_id
    and d.item_id = w.item_id
    and d.claim_id = w.claim_id
    and d.label_kind <> 'verifier'
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
