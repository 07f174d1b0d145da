-- title: Context recall
-- meaning: share of the required gold spans that are contained whole in one retrieved passage,
--   whatever its line breaks; answers without recorded retrieval are unscored
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
                    replace(coalesce(t.context_words, t.context_text), g.span_words, '')
                    <> coalesce(t.context_words, t.context_text)
                    or (
                        r.corpus_ver = g.corpus_ver
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
join runs as r on r.run_id = :run_id
join corpus_gold_spans as g
    on g.item_id = a.item_id
    and g.required
    and g.corpus_ver = case when exists (
        select 1
        from gold_span_versions as v
        where v.item_id = a.item_id and v.corpus_ver = r.corpus_ver
    ) then r.corpus_ver else e.source_corpus_ver end
group by e.query_type, e.stakes, e.item_id
