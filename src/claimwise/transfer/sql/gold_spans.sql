-- The spans that should support the answers to the items from :first to :last.
select g.item_id, g.span_text
from gold_spans as g
where g.item_id between :first and :last
order by g.item_id, g.source_id, g.span_start, g.span_end
