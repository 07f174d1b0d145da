-- How a labeler has judged a run: one row per verdict, each claim by its latest label. What is no
-- claim has no verdict, whatever a label says of it; a judge may agree that it is none.
select v.{verdict}, count(*) as claims
from {candidate_labels} as v
join claims as c
    on c.run_id = v.run_id and c.item_id = v.item_id and c.claim_id = v.claim_id
where v.run_id = :run_id
    and v.labeler = :labeler
    and (c.claim_type <> 'non_factual' or v.{verdict} = 'non_factual')
    and {no_later_label}
group by v.{verdict}
