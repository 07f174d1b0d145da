-- The run that started last. Days of live traffic come after all others: a report or a gate without a
-- run's name is about a run that somebody made.
select r.run_id
from runs as r
order by
    exists (select 1 from traffic_answers as t where t.run_id = r.run_id), r.started_at desc, r.run_id
limit 1
