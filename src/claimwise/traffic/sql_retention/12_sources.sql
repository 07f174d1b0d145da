-- Passages that came with answers: once no answer that still has its texts rests on them, and no gold span.
update sources
set source_text = '[deleted]', title = null, url = null
where source_kind is not null
    and source_text <> '[deleted]'
    and source_id in (
        select c.source_id
        from contexts as c
        join traffic_answers as t
            on t.run_id = c.run_id and t.item_id = c.item_id and t.sample = c.sample
        join runs as r on r.run_id = c.run_id
        where t.text_deleted_at is not null and r.corpus_ver = sources.corpus_ver
    )
    and source_id not in (
        select c.source_id
        from contexts as c
        join runs as r on r.run_id = c.run_id
        left join traffic_answers as t
            on t.run_id = c.run_id and t.item_id = c.item_id and t.sample = c.sample
        where t.text_deleted_at is null and r.corpus_ver = sources.corpus_ver
    )
    and not exists (select 1 from gold_spans as g where g.source_id = sources.source_id)
