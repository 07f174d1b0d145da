-- What people say of the claims of a run without sources: the label that decides each.
-- Unverifiable and non-factual claims are neither right nor wrong.
select item_id, claim_id, case when label = 'true' then 1 else 0 end as approved
from deciding_closed_book_labels
where run_id = :run_id
    and label_kind in ('adjudicated', 'human')
    and label in ('true', 'false')
