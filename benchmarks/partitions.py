"""One run's metric in a PostgreSQL store of many runs: divided by run, against undivided.

Rival: the same rows in a store without partitions. Both are filled alike, one after the other, and
vacuumed; PostgreSQL runs as installed, in a temporary folder. Asked: the same figures, and no more
time than undivided.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.store import Store, open_store
from support.label_data import fill_store, write_parquet
from support.own_postgres import start_postgres

PARTITIONS, TURNS = 16, 5
MOST_RATIO = 1.1  # of one run's metric; the rest is noise


def measure(store: Store, run_id: str) -> tuple[float, object]:
    """Return the median seconds of one run's metric, and its figures."""
    metric, times = find_metric(load_metrics(), "faithfulness"), []
    for _ in range(TURNS):
        start = time.perf_counter()
        table = estimate_metric(store, metric, run_id, ("query_type", "stakes"))
        times.append(time.perf_counter() - start)
    return median(times), table


def fill_and_measure(url: str, schema: str, options: str, data: Path) -> dict[str, Any]:
    """Fill one store, measure its middle run, and drop it: the disk holds one at a time."""
    with open_store(f"{url}?schema={schema}{options}", create=True) as store:
        start = time.perf_counter()
        fill_store(store, data)
        filled = time.perf_counter() - start
        path = f"set search_path to {schema}"
        subprocess.run(["psql", url, "-qc", path, "-c", "vacuum analyze"], check=True)
        [(rows, run_id)] = store.query("select count(*), max(run_id) from labels")
        size = store.query("select pg_database_size(current_database())")[0][0]
        seconds, table = measure(store, run_id)
    drop = f"drop schema {schema} cascade"
    subprocess.run(["psql", url, "-qc", drop], check=True, capture_output=True)
    return {"rows": rows, "filled": filled, "gb": size / 1e9, "seconds": seconds, "table": table}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="200,000 labels, under 30 s")
    parser.add_argument("--labels", type=int, default=20_000_000)
    parser.add_argument("--runs", type=int, default=20)
    args = parser.parse_args()
    labels = 200_000 if args.quick else args.labels
    with tempfile.TemporaryDirectory() as name, start_postgres() as url:
        data = Path(name)
        write_parquet(data, labels, args.runs)
        whole = fill_and_measure(url, "undivided", "", data)
        divided = fill_and_measure(url, "divided", f"&partitions={PARTITIONS}", data)
    assert whole["rows"] == divided["rows"] == labels
    print("| store | labels | runs | filled s | disk GB | metric of one run s |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for kind, found in (("undivided", whole), (f"{PARTITIONS} partitions", divided)):
        print(f"| {kind} | {labels:,} | {args.runs} | {found['filled']:.0f} | "
              f"{found['gb']:.1f} | {found['seconds']:.3f} |")  # fmt: skip
    ratio = divided["seconds"] / whole["seconds"]
    same = whole["table"] == divided["table"]
    figures = {"labels": labels, "runs": args.runs, "partitions": PARTITIONS,
               "ratio": round(ratio, 2), "same_figures": same}  # fmt: skip
    print(json.dumps({**figures, "holds": same and (args.quick or ratio <= MOST_RATIO)}))


if __name__ == "__main__":
    main()
