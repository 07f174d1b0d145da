-- How a labeler has judged a run: one row per verdict, each claim by its latest label.
select l.verdict, count(*) as claims
from standing_labels as l
where l.run_id = :run_id
    and l.labeler = :labeler
    and l.labeled_at = (
        select max(x.labeled_at)
        from standing_labels as x
        where x.run_id = l.run_id
            and x.item_id = l.item_id
            and x.claim_id = l.claim_id
            and x.labeler = l.labeler
    )
group by l.verdict
