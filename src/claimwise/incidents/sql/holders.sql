-- The documents of a corpus version that a passage stands in: the shortest first.
select s.source_id
from sources as s
where s.corpus_ver = :corpus_ver and strpos(s.source_text, :passage) > 0
order by length(s.source_text), s.source_id
limit 1
