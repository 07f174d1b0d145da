-- The tries to judge an answer's claims that failed.
select u.claim_id, u.failed_at, u.judgement, u.labeler, u.reason, u.detail, w.model, w.prompt_ver
from claims as c
join unscored_claims as u
    on u.run_id = c.run_id and u.item_id = c.item_id and u.claim_id = c.claim_id
join labelers as w on w.labeler = u.labeler
where c.run_id = :run_id and c.item_id = :item_id and c.sample = :sample
order by u.failed_at desc, u.labeler
