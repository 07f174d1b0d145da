-- What the measuring spec's own INSERTs need: they name its columns, and we keep more. As an import with
-- --fill-in does, each makes the run, the answer, the claim and the document that it takes for granted, and
-- keeps the rules of labels as far as the spec's columns can say them. The part of the claim that an
-- overreach covers is a column of ours, and may be left out here; a document that is made of quotations
-- alone may be called stale.

-- SQLite has no digest to make a claim's id of: a claim that no run has yet gets one of its own.
/*sqlite
drop trigger if exists claim_labels_in;
create trigger claim_labels_in instead of insert on claim_labels begin
    select raise(abort, 'claim_labels.item_id: no such item; insert it into eval_items first')
    where not exists (select 1 from eval_items where item_id = new.item_id);
    select raise(abort, 'claim_labels: run_id, claim_text and labeler must be given')
    where coalesce(new.run_id, '') = '' or coalesce(new.claim_text, '') = '' or coalesce(new.labeler, '') = '';
    select raise(abort, 'claim_labels.verdict: expected supported, unlinked, overreach, contradicted or stale')
    where coalesce(new.verdict, '') not in ('supported', 'unlinked', 'overreach', 'contradicted', 'stale');
    select raise(abort, 'claim_labels.claim_type: expected factual, action or citation_required')
    where coalesce(new.claim_type, '') not in ('factual', 'action', 'citation_required');
    select raise(abort, 'claim_labels.labeled_at: expected a time such as 2026-01-31 12:00:00, at most a day ahead of now')
    where coalesce(datetime(new.labeled_at) > datetime('now', '+1 day'), true);
    select raise(abort, 'claim_labels.claim_type: this claim of the run is stored with another type')
    where exists (
        select 1
        from claims as c
        where c.run_id = new.run_id and c.item_id = new.item_id and c.claim_text = new.claim_text
            and c.claim_type <> new.claim_type
    );
    select raise(abort, 'claim_labels.supporting_span: unlinked rests on nothing; leave out the span and its source')
    where new.verdict = 'unlinked' and coalesce(new.supporting_span, new.source_id) is not null;
    select raise(abort, 'claim_labels.supporting_span: this verdict needs the words that show it, and the source_id of their document')
    where new.verdict <> 'unlinked' and new.claim_type <> 'action'
        and (new.source_id is null
            or (trim(coalesce(new.supporting_span, '')) = '' and new.labeler not glob 'verifier:*' and new.labeler not glob 'judge:*'));
    select raise(abort, 'claim_labels.supporting_span: an action claim rests on an entry of the action log, without a source_id; without one it is unlinked')
    where new.verdict <> 'unlinked' and new.claim_type = 'action'
        and (new.source_id is not null or trim(coalesce(new.supporting_span, '')) = '' or new.verdict = 'stale');

    insert or ignore into labelers (labeler, labeler_kind) values (
        new.labeler,
        case when new.labeler glob 'verifier:*' or new.labeler glob 'judge:*' then 'verifier' else 'human' end
    );
    insert or ignore into runs (run_id, system, corpus_ver, started_at)
    select new.run_id, 'unknown', e.source_corpus_ver, datetime(new.labeled_at)
    from eval_items as e
    where e.item_id = new.item_id;
    insert or ignore into sources (source_id, corpus_ver, source_text, title)
    select new.source_id, r.corpus_ver, coalesce(new.supporting_span, ''), 'Quoted spans'
    from runs as r
    where r.run_id = new.run_id and new.source_id is not null;
    update sources set source_text = source_text || char(10, 10) || new.supporting_span
    where source_id = new.source_id
        and corpus_ver = (select r.corpus_ver from runs as r where r.run_id = new.run_id)
        and title = 'Quoted spans'
        and instr(source_text, new.supporting_span) = 0;
    select raise(abort, 'claim_labels.supporting_span: not in the stored document letter by letter; correct the span, or the document in sources')
    from sources as d
    where d.source_id = new.source_id
        and d.corpus_ver = (select r.corpus_ver from runs as r where r.run_id = new.run_id)
        and instr(d.source_text, coalesce(new.supporting_span, '')) = 0;
    select raise(abort, 'claim_labels.source_id: stale needs a document that was replaced or had expired on the day of the run')
    from sources as d
    join runs as r on r.run_id = new.run_id and r.corpus_ver = d.corpus_ver
    where new.verdict = 'stale'
        and d.source_id = new.source_id
        and coalesce(d.title, '') <> 'Quoted spans'
        and d.superseded_by is null
        and coalesce(d.valid_until, '9999') >= substr(r.started_at, 1, 10);

    insert or ignore into answers (run_id, item_id, answer_text) values (new.run_id, new.item_id, new.claim_text);
    update answers set answer_text = answer_text || char(10) || new.claim_text
    where run_id = new.run_id
        and item_id = new.item_id
        and sample = 0
        and instr(answer_text, new.claim_text) = 0
        and (select r.system from runs as r where r.run_id = new.run_id) = 'unknown';
    insert into claims (run_id, item_id, claim_id, position, claim_text, claim_type, unit)
    select
        new.run_id, new.item_id,
        coalesce(
            new.claim_id,
            (
                select c.claim_id
                from claim_index as i
                join claims as c on c.run_id = i.run_id and c.item_id = i.item_id and c.claim_id = i.claim_id
                where i.item_id = new.item_id and c.claim_text = new.claim_text
                limit 1
            ),
            'sql:' || lower(hex(randomblob(12)))
        ),
        (select count(*) from claims as c where c.run_id = new.run_id and c.item_id = new.item_id),
        new.claim_text, new.claim_type, 'atomic'
    where not exists (
        select 1
        from claims as c
        where c.run_id = new.run_id and c.item_id = new.item_id and c.claim_text = new.claim_text
    );
    insert into action_log (run_id, item_id, entry_id, entry_text)
    select
        new.run_id, new.item_id,
        'label-' || (select count(*) from action_log as a where a.run_id = new.run_id and a.item_id = new.item_id),
        new.supporting_span
    where new.claim_type = 'action'
        and new.supporting_span is not null
        and not exists (
            select 1
            from action_log as a
            where a.run_id = new.run_id and a.item_id = new.item_id and a.entry_text = new.supporting_span
        );
    insert into labels (
        run_id, item_id, claim_id, claim_text, claim_type, verdict, supporting_span, source_id, labeler,
        labeled_at, label_kind, guide_version, span_start, confidence, reason, inclusion_probability,
        covered_text
    )
    select
        new.run_id, new.item_id, c.claim_id, c.claim_text, c.claim_type, new.verdict, new.supporting_span,
        new.source_id, new.labeler,
        -- As claimwise writes times: in UTC, with a space and without a zone.
        case
            when length(new.labeled_at) in (19, 26) and substr(new.labeled_at, 11, 1) = ' ' then new.labeled_at
            else datetime(new.labeled_at)
        end,
        coalesce(new.label_kind, p.labeler_kind), new.guide_version,
        nullif(instr(d.source_text, new.supporting_span), 0) - 1,
        new.confidence, new.reason, new.inclusion_probability, new.covered_text
    from claims as c
    join labelers as p on p.labeler = new.labeler
    join runs as r on r.run_id = new.run_id
    left join sources as d on d.source_id = new.source_id and d.corpus_ver = r.corpus_ver
    where c.run_id = new.run_id and c.item_id = new.item_id and c.claim_text = new.claim_text
    order by c.sample, c.position
    limit 1;
end;

-- A trigger can't fill in a value: it writes the whole row itself, in place of the one that was given.
drop trigger if exists gold_spans_in;
create trigger gold_spans_in before insert on gold_spans when new.span_start is null begin
    select raise(abort, 'gold_spans.item_id: no such item; insert it into eval_items first')
    where not exists (select 1 from eval_items where item_id = new.item_id);
    insert or ignore into sources (source_id, corpus_ver, source_text, title)
    select new.source_id, e.source_corpus_ver, new.span_text, 'Quoted spans'
    from eval_items as e
    where e.item_id = new.item_id;
    update sources set source_text = source_text || char(10, 10) || new.span_text
    where source_id = new.source_id
        and corpus_ver = (select e.source_corpus_ver from eval_items as e where e.item_id = new.item_id)
        and title = 'Quoted spans'
        and instr(source_text, new.span_text) = 0;
    select raise(abort, 'gold_spans.span_text: not in the stored document letter by letter; correct the span, or the document in sources')
    from sources as d
    where d.source_id = new.source_id
        and d.corpus_ver = (select e.source_corpus_ver from eval_items as e where e.item_id = new.item_id)
        and instr(d.source_text, new.span_text) = 0;
    insert into gold_spans (item_id, source_id, span_text, required, span_start, span_end)
    select
        new.item_id, new.source_id, new.span_text, new.required, instr(d.source_text, new.span_text) - 1,
        instr(d.source_text, new.span_text) - 1 + length(new.span_text)
    from eval_items as e
    join sources as d on d.source_id = new.source_id and d.corpus_ver = e.source_corpus_ver
    where e.item_id = new.item_id;
    select raise(ignore);
end;

drop trigger if exists run_actions_in;
create trigger run_actions_in before insert on run_actions
when not exists (select 1 from runs where run_id = new.run_id) begin
    insert into runs (run_id, system, corpus_ver, started_at)
    select new.run_id, 'unknown', e.source_corpus_ver, datetime('now')
    from eval_items as e
    where e.item_id = new.item_id;
end;
*/

/*postgresql
create or replace function make_claim_id(item_id text, claim_text text) returns text
immutable language sql as $$
    select 'c1:' || string_agg(substr('abcdefghijklmnopqrstuvwxyz234567', 1 + b.value, 1), '' order by g.n)
    from (
        select sha256(convert_to(item_id || chr(31) || '0' || chr(31) || '0' || chr(31) || claim_text, 'UTF8')) as digest
    ) as h
    cross join generate_series(0, 23) as g (n)
    cross join lateral (
        select sum(get_bit(h.digest, 8 * (k / 8) + 7 - k % 8) << (4 - k + 5 * g.n))::integer as value
        from generate_series(5 * g.n, 5 * g.n + 4) as k
    ) as b
$$;

create or replace function quote_from_source(wanted text, version text, quoted text) returns text
language plpgsql as $$ declare found text; begin
    insert into sources (source_id, corpus_ver, source_text, title)
    values (wanted, version, coalesce(quoted, ''), 'Quoted spans') on conflict do nothing;
    update sources as d set source_text = d.source_text || E'\n\n' || quoted
    where d.source_id = wanted and d.corpus_ver = version and d.title = 'Quoted spans'
        and strpos(d.source_text, quoted) = 0;
    select d.source_text into found from sources as d where d.source_id = wanted and d.corpus_ver = version;
    if strpos(found, coalesce(quoted, '')) = 0 then
        raise exception 'the span is not in document % of corpus version % letter by letter; correct the span, or the document in sources', wanted, version;
    end if;
    return found;
end $$;

create or replace function add_claim_label() returns trigger language plpgsql as $$
declare
    by_judge boolean := new.labeler like 'verifier:%' or new.labeler like 'judge:%';
    spoken boolean := trim(coalesce(new.supporting_span, '')) <> '';
    corpus text;
    began timestamp;
    made boolean;
    document text;
    claim claims%rowtype;
begin
    select e.source_corpus_ver into corpus from eval_items as e where e.item_id = new.item_id;
    if corpus is null then
        raise exception 'claim_labels.item_id: no item %; insert it into eval_items first', new.item_id;
    end if;
    if coalesce(new.run_id, '') = '' or coalesce(new.claim_text, '') = '' or coalesce(new.labeler, '') = '' then
        raise exception 'claim_labels: run_id, claim_text and labeler must be given';
    end if;
    if coalesce(new.verdict, '') not in ('supported', 'unlinked', 'overreach', 'contradicted', 'stale') then
        raise exception 'claim_labels.verdict: expected supported, unlinked, overreach, contradicted or stale';
    end if;
    if coalesce(new.claim_type, '') not in ('factual', 'action', 'citation_required') then
        raise exception 'claim_labels.claim_type: expected factual, action or citation_required';
    end if;
    if new.labeled_at is null or new.labeled_at > now() at time zone 'utc' + interval '1 day' then
        raise exception 'claim_labels.labeled_at: expected a time at most a day ahead of now';
    end if;
    if new.verdict = 'unlinked' and coalesce(new.supporting_span, new.source_id) is not null then
        raise exception 'claim_labels.supporting_span: unlinked rests on nothing; leave out the span and its source';
    end if;
    if new.verdict <> 'unlinked' and new.claim_type <> 'action' and (new.source_id is null or not (spoken or by_judge)) then
        raise exception 'claim_labels.supporting_span: this verdict needs the words that show it, and the source_id of their document';
    end if;
    if new.verdict <> 'unlinked' and new.claim_type = 'action'
        and (new.source_id is not null or not spoken or new.verdict = 'stale') then
        raise exception 'claim_labels.supporting_span: an action claim rests on an entry of the action log, without a source_id; without one it is unlinked';
    end if;

    insert into labelers (labeler, labeler_kind)
    values (new.labeler, case when by_judge then 'verifier' else 'human' end) on conflict do nothing;
    insert into runs (run_id, system, corpus_ver, started_at)
    values (new.run_id, 'unknown', corpus, new.labeled_at) on conflict do nothing;
    select r.corpus_ver, r.started_at, r.system = 'unknown' into corpus, began, made
    from runs as r where r.run_id = new.run_id;
    if new.source_id is not null then
        document := quote_from_source(new.source_id, corpus, new.supporting_span);
    end if;
    if new.verdict = 'stale' and exists (
        select 1
        from sources as d
        where d.source_id = new.source_id and d.corpus_ver = corpus
            and coalesce(d.title, '') <> 'Quoted spans'
            and d.superseded_by is null
            and (d.valid_until is null or d.valid_until >= began::date)
    ) then
        raise exception 'claim_labels.source_id: stale needs a document that was replaced or had expired on the day of the run';
    end if;

    insert into answers (run_id, item_id, answer_text) values (new.run_id, new.item_id, new.claim_text)
    on conflict do nothing;
    update answers as a set answer_text = a.answer_text || E'\n' || new.claim_text
    where made and a.run_id = new.run_id and a.item_id = new.item_id and a.sample = 0
        and strpos(a.answer_text, new.claim_text) = 0;
    insert into claims (run_id, item_id, claim_id, position, claim_text, claim_type, unit)
    select
        new.run_id, new.item_id, coalesce(new.claim_id, make_claim_id(new.item_id, new.claim_text)),
        (select count(*) from claims as c where c.run_id = new.run_id and c.item_id = new.item_id),
        new.claim_text, new.claim_type, 'atomic'
    where not exists (
        select 1
        from claims as c
        where c.run_id = new.run_id and c.item_id = new.item_id and c.claim_text = new.claim_text
    );
    select c.* into claim from claims as c
    where c.run_id = new.run_id and c.item_id = new.item_id and c.claim_text = new.claim_text
    order by c.sample, c.position limit 1;
    if claim.claim_type <> new.claim_type then
        raise exception 'claim_labels.claim_type: this claim of the run is stored with another type, %', claim.claim_type;
    end if;
    insert into action_log (run_id, item_id, entry_id, entry_text)
    select
        new.run_id, new.item_id,
        'label-' || (select count(*) from action_log as a where a.run_id = new.run_id and a.item_id = new.item_id),
        new.supporting_span
    where new.claim_type = 'action' and spoken and not exists (
        select 1
        from action_log as a
        where a.run_id = new.run_id and a.item_id = new.item_id and a.entry_text = new.supporting_span
    );
    insert into labels (
        run_id, item_id, claim_id, claim_text, claim_type, verdict, supporting_span, source_id, labeler,
        labeled_at, label_kind, guide_version, span_start, confidence, reason, inclusion_probability,
        covered_text
    )
    select
        new.run_id, new.item_id, claim.claim_id, claim.claim_text, claim.claim_type, new.verdict,
        new.supporting_span, new.source_id, new.labeler, new.labeled_at,
        coalesce(new.label_kind, p.labeler_kind), new.guide_version,
        nullif(strpos(document, new.supporting_span), 0) - 1,
        new.confidence, new.reason, new.inclusion_probability, new.covered_text
    from labelers as p
    where p.labeler = new.labeler;
    return new;
end $$;
create trigger claim_labels_in instead of insert on claim_labels
for each row execute function add_claim_label();

create or replace function place_gold_span() returns trigger language plpgsql as $$
declare
    corpus text;
begin
    select e.source_corpus_ver into corpus from eval_items as e where e.item_id = new.item_id;
    if corpus is null then
        raise exception 'gold_spans.item_id: no item %; insert it into eval_items first', new.item_id;
    end if;
    new.span_start := strpos(quote_from_source(new.source_id, corpus, new.span_text), new.span_text) - 1;
    new.span_end := new.span_start + length(new.span_text);
    return new;
end $$;
drop trigger if exists gold_spans_in on gold_spans;
create trigger gold_spans_in before insert on gold_spans
for each row when (new.span_start is null) execute function place_gold_span();

create or replace function add_named_run() returns trigger language plpgsql as $$ begin
    insert into runs (run_id, system, corpus_ver, started_at)
    select new.run_id, 'unknown', e.source_corpus_ver, now() at time zone 'utc'
    from eval_items as e
    where e.item_id = new.item_id
    on conflict do nothing;
    return new;
end $$;
drop trigger if exists run_actions_in on run_actions;
create trigger run_actions_in before insert on run_actions
for each row execute function add_named_run();
*/
