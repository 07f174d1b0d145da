-- Labels that each person has given in a round.
select s.labeler, count(*) as labels
from annotation_slots as s
where s.round_id = :round_id and s.labeler is not null and s.labeled_at is not null
group by s.labeler
order by s.labeler
