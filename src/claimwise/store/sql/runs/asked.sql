-- Every item that a run was asked, and how many times.
select a.item_id, count(*) as samples
from (
    select item_id, sample from answers where run_id = :run_id
    union
    select item_id, sample from run_actions where run_id = :run_id
) as a
group by a.item_id
order by a.item_id
