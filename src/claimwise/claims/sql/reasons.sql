-- Why claims have no verdict: every reason there is, found by leaps through its index.
with recursive found as (
    select min(m.unscored) as reason
    from claim_index as m
    where m.unscored is not null
    union all
    select (select min(n.unscored) from claim_index as n where n.unscored > f.reason) as reason
    from found as f
    where f.reason is not null
)

select f.reason
from found as f
where f.reason is not null
