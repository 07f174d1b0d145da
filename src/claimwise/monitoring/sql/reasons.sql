-- Why claims of a system's traffic answers in a window have no verdict.
select u.reason, count(*)
from traffic_answers as t
join unscored_claims as u on u.run_id = t.run_id and u.item_id = t.item_id
where t.system = :system and t.answered_at >= :start and t.answered_at < :until
    and u.judgement = 'grounded'
    and not exists (
        select 1
        from labels as l
        where l.run_id = u.run_id
            and l.item_id = u.item_id
            and l.claim_id = u.claim_id
            and l.label_kind = 'verifier'
    )
group by u.reason
order by count(*) desc, u.reason
