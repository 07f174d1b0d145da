-- Documents of a corpus version that hold some words, in their title or text.
select
    d.source_id, d.source_text, d.title, d.url, d.valid_from, d.valid_until, d.superseded_by
from sources as d
where d.corpus_ver = :corpus_ver
    and strpos(lower(coalesce(d.title, '') || ' ' || d.source_text), lower(:words)) > 0
order by d.source_id
limit :documents
