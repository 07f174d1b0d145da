-- What has changed in the golden set under a run: its items that were retired, that have been carried over
-- to another corpus version than it read, and whose gold spans were corrected after it began.
with answered as (
    select distinct a.item_id, e.source_corpus_ver, r.corpus_ver, r.started_at
    from answers as a
    join eval_items as e on e.item_id = a.item_id
    join runs as r on r.run_id = a.run_id
    where a.run_id = :run_id
)

select
    (
        select count(*)
        from answered as a
        where a.item_id in (select x.item_id from retired_answers as x where x.run_id = :run_id)
    ) as retired,
    (
        select count(distinct a.item_id)
        from answered as a
        join gold_span_versions as v on v.item_id = a.item_id and v.corpus_ver = a.corpus_ver
        where a.source_corpus_ver <> a.corpus_ver
    ) as carried,
    (
        select count(distinct a.item_id)
        from answered as a
        join gold_span_versions as v
            on v.item_id = a.item_id and v.corpus_ver = a.source_corpus_ver
        where v.replaced_at > a.started_at
    ) as corrected
