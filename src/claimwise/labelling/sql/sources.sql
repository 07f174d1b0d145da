-- The documents to judge a claim by: those of the passages that the system was shown, in that
-- order; those that the answer's claims cite; those of the item's gold spans.
select
    d.source_id, d.source_text, d.title, d.url, d.valid_from, d.valid_until, d.superseded_by
from sources as d
join (
    select u.source_id, min(u.place) as place
    from (
        select x.source_id, x.position as place
        from contexts as x
        where x.run_id = :run_id and x.item_id = :item_id and x.sample = :sample
        union all
        select y.source_id, 1000000 + y.position as place
        from citations as y
        join claims as c
            on c.run_id = y.run_id and c.item_id = y.item_id and c.claim_id = y.claim_id
        where y.run_id = :run_id and y.item_id = :item_id and c.sample = :sample
        union all
        select g.source_id, 2000000 + g.span_start as place
        from gold_spans as g
        where g.item_id = :item_id
    ) as u
    group by u.source_id
) as w on w.source_id = d.source_id
where d.corpus_ver = :corpus_ver
order by w.place, d.source_id
