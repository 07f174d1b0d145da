"""One metric with intervals over 100,000,000 labels in Parquet files, out of core.

Rival: the spec's faithfulness query over the same files in DuckDB, with the same memory limit: no
intervals, no deciding label, no unscored claims. Ours is in a process of its own, whose peak memory
is measured. Asked: less than 60 s and 2 GB for 100,000,000 labels.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.store import open_store
from metrics import BARE, RUN
from support.memory import read_peak_memory

MEMORY = "1400MB"  # DuckDB's own limit: the rest of the process comes on top
MOST_SECONDS, MOST_MEMORY_MB = 60, 2000


def measure(place: str) -> None:
    """Run the metric once and print seconds and peak memory; called in its own process."""
    metric = find_metric(load_metrics(), "faithfulness")
    start = time.perf_counter()
    with open_store(f"parquet:{place}", memory=MEMORY) as store:
        table = estimate_metric(store, metric, RUN, ("query_type", "stakes"))
    seconds = time.perf_counter() - start
    claims = table.overall[0].claims
    print(json.dumps({"seconds": seconds, "memory_mb": read_peak_memory(), "claims": claims}))


def time_bare(folder: Path) -> float:
    import duckdb

    start = time.perf_counter()
    with duckdb.connect(config={"memory_limit": MEMORY}) as db:
        for kind, table in (("labels", "labels"), ("items", "eval_items")):
            db.execute(f"create view {table} as select * from '{folder}/{kind}.parquet'")
        db.execute(BARE).fetchall()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="1,000,000 labels, under 30 s")
    parser.add_argument("--labels", type=int, default=100_000_000)
    parser.add_argument("--folder", type=Path, help="keep the files there, or use those that are")
    parser.add_argument("--measure", metavar="PLACE", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        measure(args.measure)
        return
    labels = 1_000_000 if args.quick else args.labels
    from support.label_data import write_parquet  # not at the top: it would count as our memory

    with tempfile.TemporaryDirectory() as name:
        folder = args.folder or Path(name)
        if not (folder / "runs.parquet").exists():
            write_parquet(folder, labels)
        size = sum(path.stat().st_size for path in folder.glob("*.parquet"))
        bare = time_bare(folder)
        command = [sys.executable, __file__, "--measure", str(folder)]
        found = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert found["claims"] == labels
    print("| labels | files GB | bare query s | ours s | ratio | our peak memory MB |")
    print("|---|---|---|---|---|---|")
    seconds, memory = round(found["seconds"], 2), round(found["memory_mb"])
    ratio = round(seconds / bare, 2)
    print(f"| {labels:,} | {size / 1e9:.1f} | {bare:.2f} | {seconds} | {ratio} | {memory} |")
    figures = {
        "labels": labels, "files_gb": round(size / 1e9, 2), "bare_s": round(bare, 2),
        "ours_s": seconds, "ratio": ratio, "memory_mb": memory,
        "holds": seconds < MOST_SECONDS and memory < MOST_MEMORY_MB,
    }  # fmt: skip
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
