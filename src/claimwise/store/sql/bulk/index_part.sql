-- As index_labels, for labels that were completed, of claims that nobody had judged before.
update claim_index as i set
    claim_rank = n.claim_rank,
    verdict = n.verdict,
    unscored = null,
    labeler = n.labeler,
    source_id = n.source_id,
    dispute = 0
from (
    select
        d.run_id,
        d.item_id,
        d.claim_id,
        d.verdict,
        d.labeler,
        d.source_id,
        5000 * ({severity}) + cast(round(1000 * (3 + {doubt})) as integer) as claim_rank
    from stage_{labels} as d
) as n
where i.item_id = n.item_id
    and i.run_id = n.run_id
    and i.claim_id = n.claim_id
    and i.judgement = '{judgement}'
    and i.unscored = 'not_judged'
