-- The rounds that drew from a run, with how many of its claims could be drawn: rounds of that run alone,
-- and rounds over a window of traffic that it belongs to.
select r.round_id, r.created_at, sum(s.claims)
from annotation_rounds as r
join annotation_strata as s on s.round_id = r.round_id
where r.run_id = :run_id
    and r.judgement = 'grounded'
    and not exists (select 1 from annotation_round_runs as w where w.round_id = r.round_id)
group by r.round_id, r.created_at
union all
select r.round_id, r.created_at, w.claims
from annotation_round_runs as w
join annotation_rounds as r on r.round_id = w.round_id
where w.run_id = :run_id and r.judgement = 'grounded'
