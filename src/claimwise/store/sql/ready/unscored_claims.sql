-- The claim's own text.
select
    s.run_id, s.item_id, s.claim_id, c.claim_text, s.judgement, s.labeler, s.failed_at,
    s.reason, s.detail, s.file_no, s.line_no
from stage_unscored_claims as s
join claims as c
    on c.run_id = s.run_id and c.item_id = s.item_id and c.claim_id = s.claim_id
