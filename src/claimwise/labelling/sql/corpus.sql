-- A whole corpus version, for claims of which nobody knows what the system was shown.
select
    d.source_id, d.source_text, d.title, d.url, d.valid_from, d.valid_until, d.superseded_by
from sources as d
where d.corpus_ver = :corpus_ver
order by d.source_id
limit :documents
