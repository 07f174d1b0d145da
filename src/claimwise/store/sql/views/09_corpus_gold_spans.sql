-- The gold spans of every item in every corpus version in which it had any: the current ones, and for
-- earlier versions those that were last carried over from there.
select
    g.item_id, e.source_corpus_ver as corpus_ver, g.source_id, g.span_text, g.required,
    g.span_start, g.span_end, coalesce(g.span_words, g.span_text) as span_words
from gold_spans as g
join eval_items as e on e.item_id = g.item_id
union all
select
    v.item_id, v.corpus_ver, v.source_id, v.span_text, v.required,
    v.span_start, v.span_end, coalesce(v.span_words, v.span_text) as span_words
from gold_span_versions as v
join eval_items as e on e.item_id = v.item_id
where v.corpus_ver <> e.source_corpus_ver
    and v.replaced_at = (
        select max(n.replaced_at)
        from gold_span_versions as n
        where n.item_id = v.item_id and n.corpus_ver = v.corpus_ver
    )
