-- The documents that the passages given for some items come from, in the run's corpus version.
select
    d.source_id, d.corpus_ver, d.source_text, d.title, d.url, d.valid_from, d.valid_until,
    d.superseded_by
from sources as d
where d.corpus_ver = :corpus_ver
    and d.source_id in (
        select x.source_id
        from contexts as x
        where x.run_id = :run_id and x.item_id between :first and :last
    )
