-- What became of the answers that came in, up to the store.
select c.system, c.rule, c.outcome, c.reason, sum(c.answers) as answers
from traffic_counts as c
where c.day >= :first and c.day <= :last
group by c.system, c.rule, c.outcome, c.reason
having sum(c.answers) <> 0
order by c.system, c.rule, c.outcome, c.reason
