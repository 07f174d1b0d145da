-- A golden set outlives its corpus: gold spans are carried over to a new corpus version or corrected,
-- items whose evidence has gone are retired, and what was there before is kept with who, when and why.

alter table eval_items add column expected_action text;

-- The same words with single spaces, where the text has other whitespace: a line break in a retrieved
-- passage does not hide a gold span. Written by claimwise; here for the rows that are there already.
alter table gold_spans add column span_words text;
alter table contexts add column context_words text;
update gold_spans set span_words = trim(replace(replace(replace(replace(replace(replace(replace(span_text, '
', ' '), '	', ' '), '  ', ' '), '  ', ' '), '  ', ' '), '  ', ' '), '  ', ' '))
where span_text like '%
%' or span_text like '%	%' or span_text like '%  %';
update contexts set context_words = trim(replace(replace(replace(replace(replace(replace(replace(context_text, '
', ' '), '	', ' '), '  ', ' '), '  ', ' '), '  ', ' '), '  ', ' '), '  ', ' '))
where context_text like '%
%' or context_text like '%	%' or context_text like '%  %';

-- Gold spans that others have replaced: all spans that an item had, as they stood in a corpus version.
create table gold_span_versions (
    item_id text not null references eval_items (item_id),
    corpus_ver text not null,
    source_id text not null,
    span_text text not null,
    required boolean not null,
    span_start integer not null,
    span_end integer not null,
    replaced_at timestamp not null,
    replaced_by text not null,
    reason text not null,
    span_words text,
    primary key (item_id, corpus_ver, replaced_at, source_id, span_start, span_end)
);

-- Items that no longer count: what they rest on has gone from a corpus version.
create table item_retirements (
    item_id text not null references eval_items (item_id),
    retired_at timestamp not null,
    retired_by text not null,
    corpus_ver text not null,
    reason text not null,
    restored_at timestamp,
    primary key (item_id, retired_at)
);
