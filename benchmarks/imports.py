"""Import of labels from JSON Lines, checked, against a bare ``executemany``.

Rival: the finished rows, already in memory, written by one ``executemany`` into our own
labels table in a fresh SQLite file, its foreign keys off. Ours reads the file, checks every
field, finds every claim and every span in its source, completes the row and writes it. Asked: at
most 6 times. For comparison also the spec's nine columns into a table without a key.
"""

from __future__ import annotations

import argparse
import json
import resource
import sqlite3
import tempfile
import time
from pathlib import Path

import duckdb

from claimwise.store import open_store
from claimwise.transfer import import_files
from claimwise.types.rows import Answer, Claim, Item, Run, Source
from support.label_data import fill_store, write_parquet

SPEC_TABLE = (
    "create table labels (run_id text not null, item_id text, claim_text text not null, "
    "claim_type text not null, verdict text not null, supporting_span text, source_id text, "
    "labeler text not null, labeled_at timestamp not null)"
)
SPEC_COLUMNS = (
    "run_id, item_id, claim_text, claim_type, verdict, supporting_span, source_id, labeler, "
    "strftime(labeled_at, '%Y-%m-%d %H:%M:%S') as labeled_at"
)


def time_executemany(path: Path, create: str, rows: list[tuple[object, ...]]) -> float:
    target = sqlite3.connect(path)
    target.execute("pragma journal_mode = wal")
    target.execute("pragma cache_size = -65536")  # as ours
    target.execute(create)
    marks = ", ".join("?" * len(rows[0]))
    start = time.perf_counter()
    with target:
        target.executemany(f"insert into labels values ({marks})", rows)
    seconds = time.perf_counter() - start
    target.close()
    return seconds


def time_same_table(folder: Path) -> float:
    """Write the rows of the imported store into its own table, without anything else."""
    store = sqlite3.connect(folder / "ours.db")
    rows = store.execute("select * from labels").fetchall()
    found = store.execute("select sql from sqlite_master where name = 'labels'").fetchone()
    store.close()
    return time_executemany(folder / "same.db", found[0], rows)


def time_plain_table(folder: Path, parquet: Path) -> float:
    with duckdb.connect() as db:
        rows = db.execute(f"select {SPEC_COLUMNS} from '{parquet}/labels.parquet'").fetchall()
    return time_executemany(folder / "plain.db", SPEC_TABLE, rows)


def ours(folder: Path, parquet: Path) -> float:
    labels = folder / "labels.jsonl"
    with duckdb.connect() as db:
        db.execute(
            f"copy (select {SPEC_COLUMNS}, claim_id from '{parquet}/labels.parquet') "
            f"to '{labels}' (format json)"
        )
    with open_store(folder / "ours.db", create=True) as store:
        fill_store(store, parquet, (Source, Item, Run, Answer, Claim))
        start = time.perf_counter()
        import_files(store, [labels])
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 labels, under 30 s")
    args = parser.parse_args()
    count = 100_000 if args.quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_parquet(folder / "parquet", count)
        seconds = ours(folder, folder / "parquet")
        memory = round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
        rival = time_same_table(folder)
        plain = time_plain_table(folder, folder / "parquet")
    ratio = round(seconds / rival, 2)
    print("| labels | bare executemany s | plain table s | checked import s | ratio | a second |")
    print("|---|---|---|---|---|---|")
    print(
        f"| {count:,} | {rival:.2f} | {plain:.2f} | {seconds:.2f} | {ratio} "
        f"| {count / seconds:,.0f} |"
    )
    figures = {
        "labels": count,
        "bare_s": round(rival, 3),
        "plain_table_s": round(plain, 3),
        "ours_s": round(seconds, 3),
        "ratio": ratio,
        "ratio_to_plain_table": round(seconds / plain, 2),
        "peak_memory_mb": memory,
        "holds": ratio <= 6,
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
