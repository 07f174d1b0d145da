-- Whether a label decides its claim is stored with it, so that queries needn't compare labels. The triggers
-- that keep claim_index also keep this in step with labels and retractions; the views computed_deciding_…
-- define what it must be, and `claimwise doctor --deep` compares. Most claims have one label, so a label
-- decides unless another one outranks it or it was retracted. Labels that are already stored are compared
-- when the views are written (store/deciding.py).

alter table labels add column decides boolean not null default true;
alter table closed_book_labels add column decides boolean not null default true;
-- Every metric first checks if any item belongs to a conversation.
create index eval_items_by_cluster on eval_items (cluster_id) where cluster_id is not null;

-- Has a row while many rows are written at once, within that transaction: the triggers then skip flags and
-- index, and the transaction updates both before it ends (store/bulk.py).
create table bulk_load (started_at timestamp not null);

-- SQLite: first the flags of the claim to update, then its row of the index.
/*sqlite
drop trigger claim_index_refreshed;
drop trigger claim_index_gone;
create trigger claim_index_refreshed instead of insert on claim_index_refresh begin
    update labels set decides = not decides
    where new.judgement = 'grounded'
        and run_id = new.run_id
        and item_id = new.item_id
        and claim_id = new.claim_id
        and decides <> exists (
            select 1
            from computed_deciding_labels as d
            where d.run_id = new.run_id
                and d.item_id = new.item_id
                and d.claim_id = new.claim_id
                and d.labeler = labels.labeler
                and d.labeled_at = labels.labeled_at
        );
    update closed_book_labels set decides = not decides
    where new.judgement = 'closed_book'
        and run_id = new.run_id
        and item_id = new.item_id
        and claim_id = new.claim_id
        and decides <> exists (
            select 1
            from computed_deciding_closed_book_labels as d
            where d.run_id = new.run_id
                and d.item_id = new.item_id
                and d.claim_id = new.claim_id
                and d.labeler = closed_book_labels.labeler
                and d.labeled_at = closed_book_labels.labeled_at
        );
    -- After a retraction or deletion there may be nothing left to list.
    delete from claim_index
    where new.may_be = 'gone'
        and item_id = new.item_id
        and run_id = new.run_id
        and claim_id = new.claim_id
        and judgement = new.judgement
        and not exists (
            select 1
            from indexed_claims as n
            where n.run_id = new.run_id
                and n.item_id = new.item_id
                and n.claim_id = new.claim_id
                and n.judgement = new.judgement
        );
    insert into claim_index (
        run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, dispute
    )
    select
        run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, dispute
    from indexed_claims
    where run_id = new.run_id
        and item_id = new.item_id
        and claim_id = new.claim_id
        and judgement = new.judgement
    on conflict (item_id, run_id, claim_id, judgement) do update set
        claim_rank = excluded.claim_rank,
        verdict = excluded.verdict,
        unscored = excluded.unscored,
        labeler = excluded.labeler,
        source_id = excluded.source_id,
        dispute = excluded.dispute;
end;
drop trigger claim_index_claim_in;
create trigger claim_index_claim_in after insert on claims
when new.claim_type <> 'non_factual' and not exists (select 1 from bulk_load) begin
    insert into claim_index (run_id, item_id, claim_id, judgement, claim_rank, unscored, dispute)
    values (new.run_id, new.item_id, new.claim_id, 'grounded', 23000, 'not_judged', 0);
end;
-- The condition is repeated here: a trigger that does nothing still takes time, a million times over.
drop trigger claim_index_label_in;
create trigger claim_index_label_in after insert on labels
when not exists (select 1 from bulk_load) begin
    insert into claim_index_refresh
    values (new.run_id, new.item_id, new.claim_id, 'grounded', 'kept');
end;
drop trigger claim_index_closed_label_in;
create trigger claim_index_closed_label_in after insert on closed_book_labels
when not exists (select 1 from bulk_load) begin
    insert into claim_index_refresh
    values (new.run_id, new.item_id, new.claim_id, 'closed_book', 'kept');
end;
-- These columns leave out the flag: it follows from them, and its change changes nothing else.
drop trigger claim_index_label_changed;
create trigger claim_index_label_changed
after update of run_id, item_id, claim_id, verdict, source_id, labeler, labeled_at, label_kind, confidence
on labels begin
    insert into claim_index_refresh
    values (new.run_id, new.item_id, new.claim_id, 'grounded', 'kept');
end;
drop trigger claim_index_closed_label_changed;
create trigger claim_index_closed_label_changed
after update of run_id, item_id, claim_id, label, labeler, labeled_at, label_kind
on closed_book_labels begin
    insert into claim_index_refresh
    values (new.run_id, new.item_id, new.claim_id, 'closed_book', 'kept');
end;
*/

-- PostgreSQL: the same for all claims of a statement at once. A trigger that sees all changed rows can't be
-- limited to some columns, so these skip updates that a trigger makes: those are the flags.
/*postgresql
-- What metrics read of a run, in the order of its items: a tenth of the size of the tables.
create index labels_by_verdict on labels (run_id, item_id, verdict) where decides;
create index claims_by_type on claims (run_id, item_id, claim_type);

create or replace function refresh_claim_index() returns trigger language plpgsql as $$ begin
    -- Two who label one claim at once don't see each other's label: the second waits here, and what
    -- it reads below has the first one's.
    perform 1
    from claims as c
    join (select distinct run_id, item_id, claim_id from changed) as n
        on n.run_id = c.run_id and n.item_id = c.item_id and n.claim_id = c.claim_id
    order by c.run_id, c.item_id, c.claim_id
    for no key update of c;
    if exists (select 1 from bulk_load) then
        return null;
    end if;
    if tg_table_name in ('labels', 'label_retractions') then
        update labels as l set decides = not l.decides
        from (select distinct run_id, item_id, claim_id from changed) as n
        where l.run_id = n.run_id
            and l.item_id = n.item_id
            and l.claim_id = n.claim_id
            and l.decides <> exists (
                select 1
                from computed_deciding_labels as d
                where d.run_id = l.run_id
                    and d.item_id = l.item_id
                    and d.claim_id = l.claim_id
                    and d.labeler = l.labeler
                    and d.labeled_at = l.labeled_at
            );
    end if;
    if tg_table_name in ('closed_book_labels', 'label_retractions') then
        update closed_book_labels as l set decides = not l.decides
        from (select distinct run_id, item_id, claim_id from changed) as n
        where l.run_id = n.run_id
            and l.item_id = n.item_id
            and l.claim_id = n.claim_id
            and l.decides <> exists (
                select 1
                from computed_deciding_closed_book_labels as d
                where d.run_id = l.run_id
                    and d.item_id = l.item_id
                    and d.claim_id = l.claim_id
                    and d.labeler = l.labeler
                    and d.labeled_at = l.labeled_at
            );
    end if;
    delete from claim_index as i
    using changed as n
    where tg_argv[0] = 'gone'
        and i.item_id = n.item_id
        and i.run_id = n.run_id
        and i.claim_id = n.claim_id
        and not exists (
            select 1
            from indexed_claims as v
            where v.run_id = i.run_id
                and v.item_id = i.item_id
                and v.claim_id = i.claim_id
                and v.judgement = i.judgement
        );
    insert into claim_index (
        run_id, item_id, claim_id, judgement, claim_rank, verdict, unscored, labeler, source_id, dispute
    )
    select
        v.run_id, v.item_id, v.claim_id, v.judgement, v.claim_rank, v.verdict, v.unscored, v.labeler,
        v.source_id, v.dispute
    from (select distinct run_id, item_id, claim_id from changed) as n
    -- "offset 0" has every claim looked up by its key, whatever the planner believes of tables that
    -- were filled a moment ago.
    cross join lateral (
        select *
        from indexed_claims as o
        where o.run_id = n.run_id and o.item_id = n.item_id and o.claim_id = n.claim_id
        offset 0
    ) as v
    on conflict (item_id, run_id, claim_id, judgement) do update set
        claim_rank = excluded.claim_rank,
        verdict = excluded.verdict,
        unscored = excluded.unscored,
        labeler = excluded.labeler,
        source_id = excluded.source_id,
        dispute = excluded.dispute;
    return null;
end $$ set jit to off set enable_seqscan to off;
drop trigger claim_index_label_changed on labels;
create trigger claim_index_label_changed after update on labels
referencing new table as changed for each statement
when (pg_trigger_depth() = 0) execute function refresh_claim_index('kept');
drop trigger claim_index_closed_label_changed on closed_book_labels;
create trigger claim_index_closed_label_changed after update on closed_book_labels
referencing new table as changed for each statement
when (pg_trigger_depth() = 0) execute function refresh_claim_index('kept');
*/
