-- The labeler's kind.
select
    s.run_id, s.item_id, s.sample, s.correct, s.labeler, s.labeled_at,
    coalesce(s.label_kind, p.labeler_kind) as label_kind, s.reason,
    s.file_no, s.line_no
from stage_answer_labels as s
join labelers as p on p.labeler = s.labeler
