-- The sources that an answer was given, in their order, and those that verdicts rest on.
select n.source_id, min(n.place) as place, s.title, s.url, s.source_text, min(n.given) as given
from (
    select x.source_id, x.position as place, x.context_text as given
    from contexts as x
    where x.run_id = :run_id and x.item_id = :item_id and x.sample = :sample
    union all
    select l.source_id, 1000000 as place, cast(null as text) as given
    from labels as l
    join claims as c on c.run_id = l.run_id and c.item_id = l.item_id and c.claim_id = l.claim_id
    where l.run_id = :run_id
        and l.item_id = :item_id
        and c.sample = :sample
        and l.source_id is not null
) as n
left join sources as s on s.source_id = n.source_id and s.corpus_ver = :corpus_ver
group by n.source_id, s.title, s.url, s.source_text
order by min(n.place), n.source_id
