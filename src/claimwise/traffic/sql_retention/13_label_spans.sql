-- Spans of labels in documents whose text has gone, now or earlier.
update labels
set supporting_span = '[deleted]', span_start = 0
where supporting_span is not null
    and supporting_span <> '[deleted]'
    and exists (
        select 1
        from runs as r
        join sources as s on s.source_id = labels.source_id and s.corpus_ver = r.corpus_ver
        where r.run_id = labels.run_id and s.source_kind is not null and s.source_text = '[deleted]'
    )
