-- How long a person took for each of the claims that they labelled last in a round.
select s.seconds
from annotation_slots as s
where s.round_id = :round_id
    and s.labeler = :labeler
    and s.labeled_at is not null
    and s.seconds is not null
order by s.labeled_at desc
limit :wanted
