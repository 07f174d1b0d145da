"""One metric with intervals against the bare query, on every engine.

Rival: the spec's faithfulness query over the bare table of labels (join, group by two columns, no
intervals, no deciding label, no unscored claims) in the database's own shell. Asked: at most 3
times its time for 1,000,000 labels on SQLite. The full run adds 10,000,000 labels on SQLite,
PostgreSQL (give --postgres URL, an empty database) and DuckDB over Parquet, with the peak memory
of our process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.store import open_store
from support.memory import read_peak_memory

RUN = "bench"
BARE = (
    "SELECT e.query_type, e.stakes, COUNT(*) AS total_claims, "
    "SUM(CASE WHEN c.verdict = 'supported' THEN 1 END) AS supported, "
    "ROUND(AVG(CASE WHEN c.verdict = 'supported' THEN 1.0 ELSE 0 END), 3) AS faithfulness "
    "FROM labels c JOIN eval_items e ON e.item_id = c.item_id "
    f"WHERE c.run_id = '{RUN}' GROUP BY e.query_type, e.stakes ORDER BY faithfulness ASC"
)


def measure(place: str) -> None:
    """Run the metric once and print seconds, peak memory and rows; called in its own process."""
    metric = find_metric(load_metrics(), "faithfulness")
    with open_store(place) as store:
        start = time.perf_counter()
        table = estimate_metric(store, metric, RUN, ("query_type", "stakes"))
        seconds = time.perf_counter() - start
    memory = read_peak_memory()
    print(json.dumps({"seconds": seconds, "memory_mb": memory, "slices": len(table.slices)}))


def ours(place: str, repeats: int) -> tuple[float, float]:
    found = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, __file__, "--measure", place], capture_output=True, check=True
        )
        found.append(json.loads(done.stdout))
    return median(f["seconds"] for f in found), max(f["memory_mb"] for f in found)


def bare_shell(command: list[str], repeats: int) -> float:
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        subprocess.run(command, capture_output=True, check=True)
        times.append(time.perf_counter() - start)
    return median(times)


def bare_duckdb(folder: Path, repeats: int) -> float:
    import duckdb

    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        with duckdb.connect() as db:
            for kind, table in (("labels", "labels"), ("items", "eval_items")):
                db.execute(f"create view {table} as select * from '{folder}/{kind}.parquet'")
            db.execute(BARE).fetchall()
        times.append(time.perf_counter() - start)
    return median(times)


Row = dict[str, object]


def row(engine: str, labels: int, bare: float, place: str, repeats: int) -> Row:
    seconds, memory = ours(place, repeats)
    found: Row = {
        "engine": engine, "labels": labels, "bare_s": round(bare, 3), "ours_s": round(seconds, 3),
        "ratio": round(seconds / bare, 2), "memory_mb": round(memory),
    }  # fmt: skip
    print("| {engine} | {labels:,} | {bare_s} | {ours_s} | {ratio} | {memory_mb} |".format(**found))
    return found


def run_size(labels: int, folder: Path, postgres: str | None, engines: set[str]) -> list[Row]:
    # Not at the top: it would count as our memory.
    from support.label_data import fill_store, write_parquet

    repeats = 3 if labels <= 1_000_000 else 1
    parquet = folder / f"parquet-{labels}"
    write_parquet(parquet, labels)
    rows = []
    if "sqlite" in engines:
        path = folder / f"{labels}.db"
        with open_store(path, create=True) as store:
            fill_store(store, parquet)
        bare = bare_shell(["sqlite3", str(path), BARE], repeats)
        rows.append(row("SQLite", labels, bare, str(path), repeats))
        path.unlink()
    if "postgresql" in engines and postgres:
        place = f"{postgres}?schema=bench_{labels}"
        with open_store(place, create=True) as store:
            fill_store(store, parquet)
        schema = f"set search_path to bench_{labels}"
        subprocess.run(["psql", postgres, "-qc", f"{schema}; analyze"], check=True)
        bare = bare_shell(["psql", postgres, "-qc", schema, "-c", BARE], repeats)
        rows.append(row("PostgreSQL", labels, bare, place, repeats))
    if "duckdb" in engines:
        bare = bare_duckdb(parquet, repeats)
        rows.append(row("DuckDB on Parquet", labels, bare, str(parquet), repeats))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200,000 labels, under 30 s")
    parser.add_argument("--postgres", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--measure", metavar="PLACE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return
    print("| engine | labels | bare query s | ours s | ratio | our peak memory MB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        everything = {"sqlite", "postgresql", "duckdb"}
        if args.quick:
            rows = run_size(200_000, folder, args.postgres, everything)
        else:
            rows = run_size(1_000_000, folder, args.postgres, everything)
            rows += run_size(10_000_000, folder, args.postgres, everything)
    ratio = rows[0]["ratio"]
    assert isinstance(ratio, float)
    print(json.dumps({"rows": rows, "sqlite_ratio": ratio, "holds": ratio <= 3}))


if __name__ == "__main__":
    main()
