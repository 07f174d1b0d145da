-- Claims of the incoming labels that have others as well, or had one taken back: these are compared.
select s.run_id, s.item_id, s.claim_id
from stage_{labels} as s
where exists (
    select 1
    from {labels} as l
    where l.run_id = s.run_id
        and l.item_id = s.item_id
        and l.claim_id = s.claim_id
        and (l.labeler <> s.labeler or l.labeled_at <> s.labeled_at)
)
union
select s.run_id, s.item_id, s.claim_id
from stage_{labels} as s
join label_retractions as t on t.run_id = s.run_id and t.item_id = s.item_id and t.claim_id = s.claim_id
