-- The strata of a round: claims that could be drawn, and those that were.
select s.stratum, s.claims, s.chosen
from annotation_strata as s
where s.round_id = :round_id
order by s.stratum
