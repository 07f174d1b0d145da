-- The claims of an answer in their order, with what decides them by a way of judging.
select
    c.claim_id, c.claim_text, c.claim_type, c.answer_start, c.answer_end, m.verdict, m.unscored,
    m.dispute
from claims as c
left join claim_index as m
    on m.item_id = c.item_id
    and m.run_id = c.run_id
    and m.claim_id = c.claim_id
    and m.judgement = :judgement
where c.run_id = :run_id and c.item_id = :item_id and c.sample = :sample
order by c.position, c.claim_id
