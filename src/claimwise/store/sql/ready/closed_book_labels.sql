-- The claim's own text and the labeler's kind.
select
    s.run_id, s.item_id, s.claim_id, c.claim_text, s.label, s.decision_basis,
    s.labeler, s.labeled_at, coalesce(s.label_kind, p.labeler_kind) as label_kind,
    s.guide_version, s.inclusion_probability, s.file_no, s.line_no
from stage_closed_book_labels as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
join labelers as p on p.labeler = s.labeler
left join guide_versions as g on g.guide_version = s.guide_version
where s.guide_version is null or g.guide_version is not null
