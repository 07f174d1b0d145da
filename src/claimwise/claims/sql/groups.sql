-- The groups that items are in, by the first items there are: what a page offers to choose from.
select 'domain' as name, g.domain as value
from (select domain from eval_items limit 20000) as g
where g.domain is not null
group by g.domain
union all
select 'query_type' as name, g.query_type as value
from (select query_type from eval_items limit 20000) as g
where g.query_type is not null
group by g.query_type
union all
select 'stakes' as name, g.stakes as value
from (select stakes from eval_items limit 20000) as g
where g.stakes is not null
group by g.stakes
union all
select g.name, g.value
from (select name, value from item_attributes limit 20000) as g
group by g.name, g.value
order by 1, 2
