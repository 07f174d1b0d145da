-- The claims that a round of people's labels asks for.
select m.claim_no
from annotation_tasks as t
join annotation_rounds as r on r.round_id = t.round_id
join claim_index as m
    on m.run_id = t.run_id
    and m.item_id = t.item_id
    and m.claim_id = t.claim_id
    and m.judgement = r.judgement
where t.round_id = :round_id
