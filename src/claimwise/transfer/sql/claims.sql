-- The claims of a run's answers to the items from :first to :last: each with the label that
-- decides it or, where there is none, with the last failure to judge it.
select
    c.item_id,
    c.sample,
    c.claim_id,
    c.claim_text,
    c.claim_type,
    c.answer_start,
    c.answer_end,
    d.verdict,
    d.confidence,
    d.supporting_span,
    d.source_id,
    d.span_start,
    d.reason,
    d.label_kind,
    d.guide_version,
    coalesce(d.labeler, f.labeler) as labeler,
    coalesce(d.labeled_at, f.failed_at) as judged_at,
    f.reason as unscored,
    f.detail
from claims as c
left join deciding_labels as d
    on d.run_id = c.run_id and d.item_id = c.item_id and d.claim_id = c.claim_id
left join unscored_claims as f
    on f.run_id = c.run_id
        and f.item_id = c.item_id
        and f.claim_id = c.claim_id
        and f.judgement = 'grounded'
        and d.claim_id is null
        and not exists (
            select 1
            from unscored_claims as n
            where n.run_id = f.run_id
                and n.item_id = f.item_id
                and n.claim_id = f.claim_id
                and n.judgement = 'grounded'
                and (n.failed_at > f.failed_at or (n.failed_at = f.failed_at and n.labeler < f.labeler))
        )
where c.run_id = :run_id
    and c.item_id between :first and :last
    and c.claim_type <> 'non_factual'
order by c.item_id, c.sample, c.position, c.claim_id
