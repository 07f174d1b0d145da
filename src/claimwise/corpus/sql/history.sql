-- What was changed in the golden set, the latest first: gold spans replaced, and items retired.
select *
from (
    select
        v.replaced_at as changed_at, 'replaced' as change, v.item_id, v.corpus_ver,
        v.replaced_by as who, v.reason, v.source_id, v.span_text,
        cast(null as timestamp) as restored_at, v.span_start
    from gold_span_versions as v
    union all
    select
        t.retired_at as changed_at, 'retired' as change, t.item_id, t.corpus_ver,
        t.retired_by as who, t.reason, cast(null as text) as source_id,
        cast(null as text) as span_text, t.restored_at, cast(null as integer) as span_start
    from item_retirements as t
) as h
order by h.changed_at desc, h.item_id, h.change, h.source_id, h.span_start
