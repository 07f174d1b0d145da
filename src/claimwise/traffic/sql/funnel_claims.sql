-- The claims of stored answers: how many have a verdict, and why the others have none.
select t.system, coalesce(i.unscored, '') as reason, count(*) as claims
from traffic_answers as t
join claims as c on c.run_id = t.run_id and c.item_id = t.item_id and c.sample = t.sample
join claim_index as i
    on i.item_id = c.item_id and i.run_id = c.run_id and i.claim_id = c.claim_id
where i.judgement = 'grounded' and t.answered_at >= :first and t.answered_at < :after
group by t.system, coalesce(i.unscored, '')
order by t.system, reason
