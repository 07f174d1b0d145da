-- What a person said last of an answer.
select l.correct, l.reason, l.labeled_at
from answer_labels as l
where l.run_id = :run_id
    and l.item_id = :item_id
    and l.sample = :sample
    and l.labeler = :labeler
order by l.labeled_at desc
limit 1
