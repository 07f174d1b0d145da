-- The claims of an answer that can be judged, what each cites, and what a person said of it last.
select
    c.claim_id, c.claim_text,
    (
        select count(*)
        from citations as y
        where y.run_id = c.run_id and y.item_id = c.item_id and y.claim_id = c.claim_id
    ) as citations,
    (
        select l.verdict
        from standing_labels as l
        where l.run_id = c.run_id
            and l.item_id = c.item_id
            and l.claim_id = c.claim_id
            and l.labeler = :labeler
        order by l.labeled_at desc
        limit 1
    ) as mine
from claims as c
where c.run_id = :run_id
    and c.item_id = :item_id
    and c.sample = :sample
    and c.claim_type <> 'non_factual'
order by c.position, c.claim_id
