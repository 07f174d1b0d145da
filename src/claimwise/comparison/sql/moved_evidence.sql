-- Items whose evidence is not the same in two corpus versions, with the documents that moved.
-- A document moved when it is in one version alone, or its text or validity differ. An item's
-- evidence moved with it when one of its gold spans, or a passage that one of the runs was given,
-- does not stand letter by letter in both texts; and always when the validity differs.
with named as (
    select distinct source_id from sources where corpus_ver in (:base_ver, :new_ver)
),

moved as (
    select
        d.source_id,
        coalesce(o.source_text, '') as old_text,
        coalesce(n.source_text, '') as new_text,
        case
            when coalesce(o.superseded_by, '') <> coalesce(n.superseded_by, '')
                or coalesce(cast(o.valid_from as text), '') <> coalesce(cast(n.valid_from as text), '')
                or coalesce(cast(o.valid_until as text), '')
                <> coalesce(cast(n.valid_until as text), '')
                then 1
            else 0
        end as revalued
    from named as d
    left join sources as o on o.source_id = d.source_id and o.corpus_ver = :base_ver
    left join sources as n on n.source_id = d.source_id and n.corpus_ver = :new_ver
),

passages as (
    select item_id, source_id, span_text as passage from gold_spans
    union all
    select item_id, source_id, context_text as passage
    from contexts
    where run_id in (:base_run, :new_run)
)

select distinct p.item_id, p.source_id
from passages as p
join moved as m on m.source_id = p.source_id
where m.revalued = 1
    or (
        m.old_text <> m.new_text
        and (
            replace(m.old_text, p.passage, '') = m.old_text
            or replace(m.new_text, p.passage, '') = m.new_text
        )
    )
order by p.item_id, p.source_id
