-- Where the passages that the system was shown stand in their documents.
select distinct x.source_id, x.span_start, x.span_end
from contexts as x
where x.run_id = :run_id
    and x.item_id = :item_id
    and x.sample = :sample
    and x.span_start is not null
order by x.source_id, x.span_start, x.span_end
