-- A golden set outlives its corpus: gold spans are carried over to a new corpus version or corrected,
-- items that lost their evidence are retired, and the former state is kept with who, when and why.

alter table eval_items add column expected_action text;

-- The same words with single spaces, if the text has other white space, so that a line break in a
-- retrieved passage doesn't hide a gold span. claimwise fills it in; this does so for existing rows.
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

-- Replaced gold spans: all spans that an item had in a corpus version.
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

-- Items that no longer count, because a corpus version lacks their gold spans.
create table item_retirements (
    item_id text not null references eval_items (item_id),
    retired_at timestamp not null,
    retired_by text not null,
    corpus_ver text not null,
    reason text not null,
    restored_at timestamp,
    primary key (item_id, retired_at)
);
