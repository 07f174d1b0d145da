-- One row per answer: what the system did with its question. Given actions take priority; the others are
-- proposed from the answer's text, and marked as proposed.
select r.run_id, r.item_id, r.sample, r.action, 'given' as origin
from run_actions as r
union all
select a.run_id, a.item_id, a.sample, a.proposed_action as action, 'proposed' as origin
from answers as a
where a.proposed_action is not null
    and not exists (
        select 1
        from run_actions as g
        where g.run_id = a.run_id and g.item_id = a.item_id and g.sample = a.sample
    )
