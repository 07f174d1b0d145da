-- The claims of a run's answers in a window, in the order of claims.sql.
select c.item_id, c.claim_id
from claims as c
join traffic_answers as t
    on t.run_id = c.run_id and t.item_id = c.item_id and t.sample = c.sample
where c.run_id = :run_id
    and c.claim_type <> 'non_factual'
    and t.answered_at >= :start
    and t.answered_at < :until
order by c.item_id, c.claim_id
