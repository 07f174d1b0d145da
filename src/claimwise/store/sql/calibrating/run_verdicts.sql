-- An instrument's verdicts on a run's claims, counted by item; null is a claim without one.
-- The join of the latest verdict stands in the same words in pairs.sql, run_verdicts.sql,
-- scores.sql and told.sql. A view could hold it, but a new view is a new schema, and versions
-- before it could not open the store any more.
select c.item_id, v.verdict, count(*)
from claims as c
left join candidate_labels as v
    on v.run_id = c.run_id
    and v.item_id = c.item_id
    and v.claim_id = c.claim_id
    and v.labeler = :labeler
    and not exists (
        select 1
        from candidate_labels as n
        where n.run_id = v.run_id
            and n.item_id = v.item_id
            and n.claim_id = v.claim_id
            and n.labeler = v.labeler
            and n.labeled_at > v.labeled_at
    )
where c.run_id = :run_id and c.claim_type <> 'non_factual'
group by c.item_id, v.verdict
order by c.item_id, v.verdict
