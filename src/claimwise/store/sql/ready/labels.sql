-- The claim's own text and type, the labeler's kind, and the span's place in its document.
select
    s.run_id, s.item_id, s.claim_id, c.claim_text, c.claim_type, s.verdict,
    s.supporting_span, s.source_id, s.labeler, s.labeled_at,
    coalesce(s.label_kind, p.labeler_kind) as label_kind,
    s.guide_version,
    coalesce(s.span_start, nullif(strpos(d.source_text, s.supporting_span), 0) - 1) as span_start,
    s.confidence, s.reason, s.inclusion_probability, s.covered_text, s.file_no, s.line_no,
    -- What the label says otherwise than its claim; where its file says that the span stands.
    nullif(s.claim_text, c.claim_text) as other_text, nullif(s.claim_type, c.claim_type) as other_type,
    s.span_start as given_start
from stage_labels as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
join labelers as p on p.labeler = s.labeler
join runs as r on r.run_id = s.run_id
left join guide_versions as g on g.guide_version = s.guide_version
left join sources as d
    on d.source_id = s.source_id and d.corpus_ver = r.corpus_ver and s.supporting_span is not null
where s.guide_version is null or g.guide_version is not null
