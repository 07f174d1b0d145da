select count(*) as labels
from annotation_slots as s
where s.round_id = :round_id and s.labeler = :labeler and s.labeled_at is not null
