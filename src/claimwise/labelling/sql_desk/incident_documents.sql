-- Documents that the system was given when an item's incident happened.
select
    d.source_id, d.source_text, d.title, d.url, d.valid_from, d.valid_until, d.superseded_by
from sources as d
where d.corpus_ver = :corpus_ver
    and d.source_id in (
        select x.source_id
        from incident_contexts as x
        join incidents as i on i.incident_id = x.incident_id
        where i.item_id = :item_id
    )
order by d.source_id
