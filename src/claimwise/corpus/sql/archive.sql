-- Keeps an item's gold spans as they are, before others take their place.
insert into gold_span_versions (
    item_id, corpus_ver, source_id, span_text, required, span_start, span_end, replaced_at,
    replaced_by, reason, span_words
)
select
    g.item_id, e.source_corpus_ver, g.source_id, g.span_text, g.required, g.span_start, g.span_end,
    :now, :who, :reason, g.span_words
from gold_spans as g
join eval_items as e on e.item_id = g.item_id
where g.item_id = :item_id
