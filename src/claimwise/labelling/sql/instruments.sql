-- The instruments that judged a run, those with most labels first.
select l.labeler, count(*) as labels
from {standing_labels} as l
where l.run_id = :run_id and l.label_kind = 'verifier'
group by l.labeler
order by count(*) desc, l.labeler
