-- What people say of the claims of a run against the sources: the label that decides each.
select item_id, claim_id, case when verdict = 'supported' then 1 else 0 end as approved
from deciding_labels
where run_id = :run_id
    and label_kind in ('adjudicated', 'human')
