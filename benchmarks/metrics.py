"""One metric with intervals against the bare query, on every engine.

Rival: the spec's faithfulness query over the bare table of labels (join, group by two columns, no
intervals, no deciding label, no unscored claims) in the database's own shell. Asked: at most 1.5
times its time for 10,000,000 labels on SQLite, PostgreSQL and DuckDB over Parquet, there with less
than 1 GB of memory in our process. Saving a label, which keeps what the query then reads, may take
10% longer than in a store that compares labels in every query.

PostgreSQL runs as installed, in a temporary folder, after VACUUM ANALYZE, which its autovacuum does
by itself within a minute or so. 100,000,000 labels in Parquet: benchmarks/parquet.py.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from statistics import median

from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.store import open_store
from support.memory import read_peak_memory
from support.own_postgres import start_postgres

RUN = "bench"
MOST_RATIO, MOST_MEMORY, MOST_SAVE_RATIO = 1.5, 1000, 1.1
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
        subprocess.run(["psql", postgres, "-qc", schema, "-c", "vacuum analyze"], check=True)
        bare = bare_shell(["psql", postgres, "-qc", schema, "-c", BARE], repeats)
        rows.append(row("PostgreSQL", labels, bare, place, repeats))
    if "duckdb" in engines:
        bare = bare_duckdb(parquet, repeats)
        rows.append(row("DuckDB on Parquet", labels, bare, str(parquet), repeats))
    return rows


def compare_all_saves(folder: Path, postgres: str | None) -> dict[str, float]:
    """Return by engine how much longer saving a label takes than without the flags."""
    from support.label_saves import compare_saves

    places = {"SQLite": lambda name: str(folder / f"{name}.db")}
    if postgres:
        places["PostgreSQL"] = lambda name: f"{postgres}?schema=saves_{name}"
    print("\n| engine | save, label compared ms | save, label kept ms | ratio |\n|---|---|---|---|")
    ratios = {}
    for engine, make_place in places.items():
        kept, compared = compare_saves(make_place)
        ratios[engine] = round(kept / compared, 2)
        print(f"| {engine} | {compared:.2f} | {kept:.2f} | {ratios[engine]} |")
    return ratios


def judge(rows: list[Row], saves: dict[str, float], labels: int) -> bool:
    """Return whether the largest size keeps what was asked."""
    largest = [row for row in rows if row["labels"] == labels]
    quick_enough = all(float(str(row["ratio"])) <= MOST_RATIO for row in largest)
    small_enough = all(
        float(str(row["memory_mb"])) < MOST_MEMORY
        for row in largest
        if "DuckDB" in str(row["engine"])
    )
    return quick_enough and small_enough and max(saves.values()) <= MOST_SAVE_RATIO


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200,000 labels, under 30 s")
    parser.add_argument("--postgres", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--labels", type=int, help="one size instead of 1 and 10 million")
    parser.add_argument("--measure", metavar="PLACE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return
    sizes = [200_000] if args.quick else [args.labels] if args.labels else [1_000_000, 10_000_000]
    print("| engine | labels | bare query s | ours s | ratio | our peak memory MB |")
    print("|---|---|---|---|---|---|")
    engines = {"sqlite", "duckdb"} if args.quick else {"sqlite", "postgresql", "duckdb"}
    with tempfile.TemporaryDirectory() as name, ExitStack() as servers:
        folder, postgres = Path(name), args.postgres
        if not args.quick and postgres is None:
            postgres = servers.enter_context(start_postgres())
        rows = [row for size in sizes for row in run_size(size, folder, postgres, engines)]
        saves = compare_all_saves(folder, postgres)
    holds = judge(rows, saves, sizes[-1])
    print(json.dumps({"rows": rows, "save_ratios": saves, "holds": holds}))


if __name__ == "__main__":
    main()
