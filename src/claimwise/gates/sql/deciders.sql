-- title: Who decides
-- meaning: labels of each instrument that decide, by item
-- grain: one row per item and labeler
-- unit: label
select
    d.labeler,
    d.item_id as cluster_id,
    count(*) as numerator,
    count(*) as denominator
from {view} as d
where d.run_id = :run_id and d.label_kind = 'verifier'
group by d.labeler, d.item_id
