"""Import of labels from a file, checked, against a bare ``executemany``.

Rival: the finished rows, already in memory, written by one ``executemany`` into our own
labels table in a fresh SQLite file, its foreign keys off. Ours reads the file, checks every
field, finds every claim and every span in its source, completes the row, writes it and keeps the
index of claims. Asked, of SQLite and JSON Lines on two cores: at least 100,000 labels a second,
and at most 6 times the rival. For comparison also the spec's nine columns into a table without a
key, one process, Parquet and PostgreSQL.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import sqlite3
import tempfile
import time
from pathlib import Path

import duckdb

from claimwise.command.processes import count_processors
from claimwise.store import open_store
from claimwise.transfer import import_files
from claimwise.types.rows import Answer, Claim, Item, Run, Source
from support.label_data import fill_store, write_parquet
from support.own_postgres import start_postgres

LEAST_PER_SECOND = 100_000
MOST_RATIO = 6
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


def write_labels(folder: Path, parquet: Path) -> dict[str, Path]:
    """Write the labels as a user would have them, in two formats."""
    files = {form: folder / f"labels.{form}" for form in ("jsonl", "parquet")}
    with duckdb.connect() as db:
        for form, file in files.items():
            db.execute(
                f"copy (select {SPEC_COLUMNS}, claim_id from '{parquet}/labels.parquet') "
                f"to '{file}' (format {form.replace('jsonl', 'json')})"
            )
    return files


def ours(place: str | Path, parquet: Path, labels: Path, processes: int) -> float:
    """Import into a store whose claims are there, and in the index that the app lists them by."""
    with open_store(place, create=True) as store:
        fill_store(store, parquet, (Source, Item, Run, Answer, Claim), index=True)
        os.sync()  # what preparing has written is not what is measured
        start = time.perf_counter()
        [added] = import_files(store, [labels], processes=processes).counts
        seconds = time.perf_counter() - start
        assert added.added == added.read
    return seconds


def measure_all(folder: Path, parquet: Path, *, postgres: bool) -> dict[str, float]:
    """Return the seconds of our imports, the one that is asked for first."""
    files = write_labels(folder, parquet)
    cores = count_processors()
    seconds = {f"SQLite, JSON Lines, {cores} cores": ours(
        folder / "ours.db", parquet, files["jsonl"], cores)}  # fmt: skip
    for name, form in (("JSON Lines", "jsonl"), ("Parquet", "parquet")):
        seconds[f"SQLite, {name}, one process"] = ours(
            folder / f"{form}.db", parquet, files[form], 1
        )
        (folder / f"{form}.db").unlink()
    if postgres:
        with start_postgres() as url:
            seconds["PostgreSQL, JSON Lines"] = ours(url, parquet, files["jsonl"], cores)
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 labels, under 30 s")
    parser.add_argument("--postgres", action="store_true", help="PostgreSQL as well")
    args = parser.parse_args()
    count = 100_000 if args.quick else 1_000_000
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_parquet(folder / "parquet", count)
        imports = measure_all(folder, folder / "parquet", postgres=args.postgres)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        memory = round(max(memory, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss) / 1024)
        rivals = {
            "bare executemany, the same table": time_same_table(folder),
            "bare executemany, a plain table": time_plain_table(folder, folder / "parquet"),
        }
    print("| what | labels | s | a second |")
    print("| --- | ---: | ---: | ---: |")
    for what, seconds in {**imports, **rivals}.items():
        print(f"| {what} | {count:,} | {seconds:.2f} | {count / seconds:,.0f} |")
    asked = next(iter(imports.values()))
    ratio = asked / rivals["bare executemany, the same table"]
    figures = {
        "labels": count,
        "seconds": {what: round(found, 3) for what, found in {**imports, **rivals}.items()},
        "ratio": round(ratio, 2),
        "peak_memory_mb": memory,
        "holds": ratio <= MOST_RATIO and (args.quick or count / asked >= LEAST_PER_SECOND),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
