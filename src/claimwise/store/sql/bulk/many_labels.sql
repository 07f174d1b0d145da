-- Claims of the incoming labels that have others as well, or had one taken back: these are compared.
select s.run_id, s.item_id, s.claim_id
from stage_{labels} as s
join {labels} as l on l.run_id = s.run_id and l.item_id = s.item_id and l.claim_id = s.claim_id
group by s.run_id, s.item_id, s.claim_id
having min(l.labeler) <> max(l.labeler) or min(l.labeled_at) <> max(l.labeled_at)
union
select s.run_id, s.item_id, s.claim_id
from stage_{labels} as s
join label_retractions as t on t.run_id = s.run_id and t.item_id = s.item_id and t.claim_id = s.claim_id
