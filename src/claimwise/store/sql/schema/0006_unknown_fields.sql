-- What a file doesn't say stays unknown: the kind of question, whether the corpus can answer it, and
-- what a wrong answer costs. And two things that other tools' files do say: the conversation (or
-- document) that several items come from, and that a source is what a tool returned.

/*postgresql
alter table eval_items alter column query_type drop not null;
alter table eval_items alter column answerable drop not null;
alter table eval_items alter column stakes drop not null;
*/

-- SQLite can't drop a constraint: the table is rebuilt and takes the old one's name. Others
-- refer to it, so the engine migrates with foreign keys off and checks them before it commits.
/*sqlite
create table eval_items_next (
    item_id text primary key,
    query text not null,
    query_type text,
    answerable boolean,
    stakes text check (stakes in ('low', 'medium', 'high')),
    gold_answer text,
    source_corpus_ver text not null,
    domain text
);
insert into eval_items_next (
    item_id, query, query_type, answerable, stakes, gold_answer, source_corpus_ver, domain
)
select item_id, query, query_type, answerable, stakes, gold_answer, source_corpus_ver, domain
from eval_items;
drop table eval_items;
alter table eval_items_next rename to eval_items;
*/

alter table eval_items add column cluster_id text;
alter table sources add column source_kind text check (source_kind in ('passage', 'tool_output'));
