-- title: Context recall
-- meaning: share of the required gold spans that lie whole within one retrieved passage; answers
--   whose retrieval nobody recorded are unscored
-- grain: one row per item
-- role: main
-- order: 60
-- unit: gold span
-- labels: none
-- needs: gold_spans
-- better: higher
with answered as (
    select
        a.item_id,
        a.sample,
        case when a.context_count is not null or exists (
            select 1
            from contexts as t
            where t.run_id = a.run_id and t.item_id = a.item_id and t.sample = a.sample
        ) then 1 else 0 end as recorded
    from answers as a
    where a.run_id = :run_id
)

select
    e.query_type,
    e.stakes,
    e.item_id as cluster_id,
    sum(
        case when exists (
            select 1
            from contexts as t
            where t.run_id = :run_id
                and t.item_id = a.item_id
                and t.sample = a.sample
                and t.source_id = g.source_id
                and (
                    replace(t.context_text, g.span_text, '') <> t.context_text
                    or (
                        r.corpus_ver = e.source_corpus_ver
                        and t.span_start <= g.span_start
                        and t.span_end >= g.span_end
                    )
                )
        ) then 1 else 0 end
    ) as numerator,
    sum(a.recorded) as denominator,
    count(*) as asked
from answered as a
join eval_items as e on e.item_id = a.item_id
join gold_spans as g on g.item_id = a.item_id and g.required
join runs as r on r.run_id = :run_id
group by e.query_type, e.stakes, e.item_id
