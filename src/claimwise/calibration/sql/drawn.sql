-- The claims that people labelled in a round, with the stratum that each was drawn from. A label of
-- before, or one given in another round, is none of this round.
-- A claim whose label of the round was taken back, and which has no other, does not count.
select t.item_id, t.claim_id, t.stratum
from annotation_tasks as t
where t.round_id = :round_id
    and exists (
        select 1 from annotation_slots as s where s.task_id = t.task_id and s.state = 'done'
    )
    and exists (
        select 1
        from {candidate_labels} as h
        where h.run_id = t.run_id
            and h.item_id = t.item_id
            and h.claim_id = t.claim_id
            and h.label_kind <> 'verifier'
    )
order by t.item_id, t.claim_id
