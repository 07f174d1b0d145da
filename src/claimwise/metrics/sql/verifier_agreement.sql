-- title: Agreement with people
-- meaning: share of the claims labelled by a judge and by people on which the judge gave the people's
--   deciding verdict (closed-book: their label); read it beside every figure from that judge
-- grain: one row per item and judge
-- role: measurement
-- order: 130
-- unit: claim
-- labels: none
-- needs: people
-- better: higher
-- series: labeler
with judged as (
    select
        v.labeler,
        v.item_id,
        case when v.verdict = d.verdict then 1 else 0 end as agrees
    from standing_labels as v
    join deciding_labels as d
        on d.run_id = v.run_id and d.item_id = v.item_id and d.claim_id = v.claim_id
    where v.run_id = :run_id
        and v.label_kind = 'verifier'
        and d.label_kind <> 'verifier'
        and not exists (
            select 1
            from standing_labels as n
            where n.run_id = v.run_id
                and n.item_id = v.item_id
                and n.claim_id = v.claim_id
                and n.labeler = v.labeler
                and n.labeled_at > v.labeled_at
        )
    union all
    select
        v.labeler,
        v.item_id,
        case when v.label = d.label then 1 else 0 end as agrees
    from standing_closed_book_labels as v
    join deciding_closed_book_labels as d
        on d.run_id = v.run_id and d.item_id = v.item_id and d.claim_id = v.claim_id
    where v.run_id = :run_id
        and v.label_kind = 'verifier'
        and d.label_kind <> 'verifier'
        and not exists (
            select 1
            from standing_closed_book_labels as n
            where n.run_id = v.run_id
                and n.item_id = v.item_id
                and n.claim_id = v.claim_id
                and n.labeler = v.labeler
                and n.labeled_at > v.labeled_at
        )
)

select
    j.labeler,
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(j.agrees) as numerator,
    count(*) as denominator,
    count(*) as asked
from judged as j
join eval_items as e on e.item_id = j.item_id
group by j.labeler, e.query_type, e.stakes, e.item_id
