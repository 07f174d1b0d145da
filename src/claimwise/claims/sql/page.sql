-- The claims chosen, with what a reader needs beside them: question, answer, the document of the
-- evidence, and for a claim without a verdict the reason of the last failure.
select
    p.cluster_id as item_id,
    p.sample,
    p.claim_id,
    p.position,
    p.claim_text,
    p.claim_type,
    e.query as question,
    a.answer_text,
    p.answer_start,
    p.answer_end,
    p.verdict,
    p.label_kind,
    p.labeler,
    p.labeled_at,
    p.confidence,
    p.supporting_span as evidence,
    p.span_start as evidence_start,
    p.source_id,
    s.title as source_title,
    s.url as source_url,
    p.covered_text,
    p.reason,
    case when p.verdict is null then coalesce(
        (
            select u.reason
            from unscored_claims as u
            where u.run_id = :run_id
                and u.item_id = p.cluster_id
                and u.claim_id = p.claim_id
                and u.judgement = :judgement
            order by u.failed_at desc, u.labeler
            limit 1
        ), 'not_judged'
    ) end as unscored,
    p.disputed,
    p.severity,
    p.doubt,
    e.query_type,
    e.stakes,
    e.domain{groups}
from page as p
join runs as r on r.run_id = :run_id
join eval_items as e on e.item_id = p.cluster_id
left join answers as a
    on a.run_id = :run_id and a.item_id = p.cluster_id and a.sample = p.sample
left join sources as s on s.source_id = p.source_id and s.corpus_ver = r.corpus_ver
order by p.severity, p.doubt, p.cluster_id, p.sample, p.position, p.claim_id
