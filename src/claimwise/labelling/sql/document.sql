-- What a label needs of a document: its length, the letters at a place, and whether it holds.
select
    length(d.source_text) as length,
    substr(d.source_text, :span_start + 1, :span_length) as found,
    d.valid_until, d.superseded_by
from sources as d
where d.corpus_ver = :corpus_ver and d.source_id = :source_id
