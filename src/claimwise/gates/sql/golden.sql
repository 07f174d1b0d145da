-- title: The golden set
-- meaning: every item of the store, asked or not; one of which only the question is known comes from
--   a measured file, and was never meant to be asked again
-- grain: one row per item
-- unit: item
select
    e.item_id as cluster_id,
    0 as numerator,
    1 as denominator
from eval_items as e
where e.query_type is not null or e.answerable is not null or e.stakes is not null
