-- Claims of a run that at least two rounds of a judge scored, and how many verdicts each was given.
-- The first round's labeler is :labeler, later ones have #2, #3… behind it; of a round's labels
-- on a claim the latest counts.
select v.item_id, v.claim_id, min(v.claim_text) as claim_text, count(distinct v.{verdict}) as verdicts
from {candidate_labels} as v
where v.run_id = :run_id
    and (
        v.labeler = :labeler
        or substr(v.labeler, 1, length(:labeler) + 1) = :labeler || '#'
    )
    and {no_later_label}
group by v.item_id, v.claim_id
having count(distinct v.labeler) > 1
order by v.item_id, v.claim_id
