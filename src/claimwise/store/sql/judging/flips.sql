-- Claims of a run that at least two rounds of a judge scored, and those on which rounds disagree.
-- The first round's labeler is :labeler, later ones have #2, #3… behind it; of a round's labels
-- on a claim the latest counts.
select
    count(*) as compared,
    sum(case when t.verdicts > 1 then 1 else 0 end) as flipped
from (
    select l.item_id, l.claim_id, count(distinct l.verdict) as verdicts
    from standing_labels as l
    where l.run_id = :run_id
        and (
            l.labeler = :labeler
            or substr(l.labeler, 1, length(:labeler) + 1) = :labeler || '#'
        )
        and not exists (
            select 1
            from standing_labels as n
            where n.run_id = l.run_id
                and n.item_id = l.item_id
                and n.claim_id = l.claim_id
                and n.labeler = l.labeler
                and n.labeled_at > l.labeled_at
        )
    group by l.item_id, l.claim_id
    having count(distinct l.labeler) > 1
) as t
