"""Makes label data of any size for the benchmarks: items with ten claims and one label each."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb

from claimwise.store import Store
from claimwise.store.claim_index import fill_claim_index
from claimwise.types.rows import ROW_TYPES, Answer, Claim, Item, Label, Labeler, Row, Run, Source

CLAIMS_PER_ITEM = 10
RUN = "bench"
_MOST_SORTED = 20_000_000

_SELECTS: dict[type[Row], str] = {
    Source: """
        select 'doc-' || i as source_id, 'v1' as corpus_ver,
            repeat('Plain words that fill the page. ', 60) || 'The span of document ' || i
            || ' says what the claims rest on.' as source_text,
            null::varchar as title, null::varchar as url, null::date as valid_from,
            date '2025-12-31' as valid_until, null::varchar as superseded_by
        from range(1000) as t(i)""",
    Item: """
        select 'item-' || lpad(i::varchar, 8, '0') as item_id,
            'What does document ' || (i % 1000) || ' say?' as query,
            ['lookup', 'multi_hop', 'aggregation', 'ambiguous'][1 + (hash(i) % 4)::int]
            as query_type, true as answerable,
            ['low', 'medium', 'high', 'high', 'low'][1 + (hash(i + 7) % 5)::int] as stakes,
            'an answer' as gold_answer, 'v1' as source_corpus_ver, null::varchar as domain
        from range({items}) as t(i)""",
    Labeler: """
        select 'verifier:bench' as labeler, 'verifier' as labeler_kind, null::varchar as version,
            null::varchar as model, null::varchar as prompt_ver""",
    Run: """
        select 'bench' as run_id, 'bench' as system, null::varchar as model,
            null::varchar as prompt_ver, null::varchar as retriever_ver, 'v1' as corpus_ver,
            timestamp '2026-01-01' as started_at""",
    Answer: """
        select 'bench' as run_id, 'item-' || lpad(i::varchar, 8, '0') as item_id,
            0::integer as sample, repeat('An answer of some length. ', 10) as answer_text,
            null::varchar as failure, null::integer as context_count
        from range({items}) as t(i)""",
    Claim: """
        select 'bench' as run_id, 'item-' || lpad(i::varchar, 8, '0') as item_id,
            'c1:' || lower(left(md5(i || '/' || j), 24)) as claim_id, 0::integer as sample,
            j::integer as position,
            'Claim ' || j || ' of item ' || i || ' says that something happened in the year '
            || (1900 + j) || '.' as claim_text, 'factual' as claim_type, 'atomic' as unit,
            null::integer as answer_start, null::integer as answer_end
        from range({items}) as t(i), range(10) as u(j) order by item_id, claim_id""",
    Label: """
        select 'bench' as run_id, 'item-' || lpad(i::varchar, 8, '0') as item_id,
            'c1:' || lower(left(md5(i || '/' || j), 24)) as claim_id,
            'Claim ' || j || ' of item ' || i || ' says that something happened in the year '
            || (1900 + j) || '.' as claim_text, 'factual' as claim_type,
            case when hash(i, j) % 100 + hash(i) % 20 < 95 then 'supported'
                else ['unlinked', 'overreach', 'contradicted', 'stale'][1 + (hash(j, i) % 4)::int]
            end as verdict,
            case when verdict <> 'unlinked'
                then 'The span of document ' || (i % 1000) || ' says' end as supporting_span,
            case when verdict <> 'unlinked' then 'doc-' || (i % 1000) end as source_id,
            'verifier:bench' as labeler,
            timestamp '2026-01-02' as labeled_at, 'verifier' as label_kind,
            null::varchar as guide_version,
            case when verdict <> 'unlinked' then 1920::integer end as span_start,
            0.9::double as confidence, null::varchar as reason,
            null::double as inclusion_probability, null::varchar as covered_text, true as decides
        from range({items}) as t(i), range(10) as u(j) order by item_id, claim_id""",
}


def write_parquet(folder: Path, labels: int, runs: int = 1) -> None:
    """Write a Parquet store with that many labels; kinds without rows become empty files.

    Several runs, “bench-0” and so on, share the items evenly.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as db:
        db.execute("set preserve_insertion_order = true")
        for row_type in ROW_TYPES:
            select = _SELECTS.get(row_type)
            if select is None:
                columns = ", ".join(f"null::varchar as {c}" for c in row_type.__struct_fields__)
                select = f"select {columns} where false"
            sql = select.format(items=labels // CLAIMS_PER_ITEM)
            if runs > 1:
                sql = _spread(sql, labels // CLAIMS_PER_ITEM // runs, runs)
            if labels > _MOST_SORTED:
                sql = sql.removesuffix(" order by item_id, claim_id")  # items come in order anyway
            db.execute(f"copy ({sql}) to '{folder}/{row_type.kind}.parquet' (format parquet)")


def _spread(sql: str, items: int, runs: int) -> str:
    """Give every run so many items in turn."""
    if "range" in sql:
        return sql.replace("'bench' as run_id", f"'bench-' || (i // {items}) as run_id")
    return sql.replace("'bench' as run_id", "'bench-' || i as run_id") + (
        f" from range({runs}) as t(i)" if "'bench' as run_id" in sql else ""
    )


def fill_store(
    store: Store, folder: Path, kinds: tuple[type[Row], ...] = (), *, index: bool = False
) -> None:
    """Copy a Parquet store into a database as fast as it goes, unchecked.

    Args:
        store: where to.
        folder: the Parquet files.
        kinds: what to copy; everything if empty.
        index: whether to fill the index of claims, where that is part of what is measured.
    """
    engine = store._engine  # the product has no unchecked way in, and needs none
    if store.engine_name == "postgresql":
        engine.run_script("set session_replication_role = replica")
    else:
        engine.query("pragma foreign_keys = off")
    with duckdb.connect() as db, engine.write():
        # One label per claim: all decide.
        engine.execute("insert into bulk_load (started_at) values ('2026-01-01')")
        for row_type in kinds or tuple(_SELECTS):
            rows = f"select * from '{folder}/{row_type.kind}.parquet'"
            columns = [found[0] for found in db.execute(f"describe {rows}").fetchall()]
            engine.insert_rows(row_type.table, columns, _rows(db, rows))
        engine.execute("delete from bulk_load")
        if index:
            fill_claim_index(engine)
    if store.engine_name == "postgresql":
        engine.run_script("set session_replication_role = default; analyze")
    else:
        engine.query("pragma foreign_keys = on")


def _rows(db: duckdb.DuckDBPyConnection, sql: str) -> Iterator[tuple[object, ...]]:
    cursor = db.execute(sql)
    while page := cursor.fetchmany(20_000):
        yield from page
