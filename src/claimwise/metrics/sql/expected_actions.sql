-- title: Expected actions
-- meaning: share of answers to items with an expected action whose action log has such an entry;
--   unscored if the run has no action log at all
-- grain: one row per item
-- role: detail
-- order: 85
-- unit: answer
-- labels: none
-- needs: expected_action
-- better: higher
with expected as (
    -- As a pattern: an asterisk stands for anything; spaces, line breaks and case don't matter.
    select
        e.item_id,
        e.query_type,
        e.stakes,
        '%' || replace(
            replace(replace(replace(
                lower(replace(replace(e.expected_action, ' ', ''), '
', '')),
                '!', '!!'), '%', '!%'), '_', '!_'),
            '*', '%'
        ) || '%' as entry
    from eval_items as e
    where e.expected_action is not null
)

select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(
        case when exists (
            select 1
            from action_log as l
            where l.run_id = a.run_id
                and l.item_id = a.item_id
                and l.sample = a.sample
                and lower(replace(replace(l.entry_text, ' ', ''), '
', '')) like e.entry escape '!'
        ) then 1 else 0 end
    ) as numerator,
    sum(case when exists (
        select 1 from action_log as l where l.run_id = :run_id
    ) then 1 else 0 end) as denominator,
    count(*) as asked
from answers as a
join expected as e on e.item_id = a.item_id
where a.run_id = :run_id
group by e.query_type, e.stakes, e.item_id
