-- What indexed_claims says of a claim with one label: it decides, and nobody differs.
insert into claim_index (
    run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, dispute
)
select
    d.run_id,
    d.item_id,
    d.claim_id,
    '{judgement}',
    case when '{judgement}' = 'grounded' then 0 else 100000 end + 5000 * ({severity})
    + cast(round(1000 * (3 + {doubt})) as integer),
    d.verdict,
    null,
    d.labeler,
    d.source_id,
    0
from (
    select
        v.run_id,
        v.item_id,
        v.claim_id,
        v.{verdict} as verdict,
        v.label_kind,
        v.labeler,
        {confidence} as confidence,
        {source_id} as source_id
    from stage_{labels} as s
    join {labels} as v on v.run_id = s.run_id and v.item_id = s.item_id and v.claim_id = s.claim_id
    left join stage_many_{labels} as m
        on m.run_id = s.run_id and m.item_id = s.item_id and m.claim_id = s.claim_id
    where m.claim_id is null
) as d
where true
on conflict (item_id, run_id, claim_id, judgement) do update set
    claim_rank = excluded.claim_rank,
    verdict = excluded.verdict,
    unscored = excluded.unscored,
    labeler = excluded.labeler,
    source_id = excluded.source_id,
    dispute = excluded.dispute
