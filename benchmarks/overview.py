"""The overview over 200 runs and a million labels: how long the page takes once it is computed.

A store of 200 runs, 1,000,000 claims, a judge's labels of nearly all and a person's of some. The
page is asked for until it says that its figures count all that is stored; that is the time to
compute, and the time until its first screen is there is told apart. Then it is asked for again and
again, as the server makes it (check that nothing changed, read, fill the template), without HTTP.
Rivals: the same page without kept figures, which measures its summary each time; and computing its
reports one by one, each with what it needs of other runs. Asked: p95 under 300 ms on SQLite and on
PostgreSQL (its default settings; ours in a temporary folder, or --postgres URL, an empty database),
the first screen within 5 seconds, and all of it computed sooner than the reports one by one.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from claimwise.accounts.values import Account
from claimwise.app.dashboard import show_dashboard
from claimwise.app.pool import StorePool
from claimwise.app.requests import Call
from claimwise.app.runs import MOST_RUNS
from claimwise.config import Project
from claimwise.metrics import load_metrics
from claimwise.run_report import build_report
from claimwise.run_report.summary import summarize_project
from claimwise.store import Store, open_store
from support.claim_data import fill_claims
from support.own_postgres import start_postgres

MOST_MS = 300.0
MOST_FIRST_S = 5.0
ENGINES = ("sqlite", "postgresql")
RUNS, QUICK_RUNS = 200, 20
CLAIMS, QUICK_CLAIMS = 1_000_000, 10_000
PAGES = 30


class MadePage(NamedTuple):
    """The page, and how many milliseconds it took by the clock and of our own processor time."""

    text: str
    wall: float
    processor: float


def make_page(pool: StorePool) -> MadePage:
    """Make the page."""
    now = datetime.now(UTC).replace(tzinfo=None)
    with pool.borrow() as store:
        call = Call(
            store=store, account=Account(account="ada", role="adjudicator", created_at=now),
            project=Project(Path()), now=now, borrow=pool.borrow,
        )  # fmt: skip
        start, processor = time.perf_counter(), time.process_time()
        text = show_dashboard(call).body.decode()
        took = time.perf_counter() - start, time.process_time() - processor
        return MadePage(text, 1000 * took[0], 1000 * took[1])


def wait_computed(pool: StorePool) -> tuple[float, float]:
    """Ask for the page until its figures are all there; return the seconds to the first, to all."""
    start, first = time.perf_counter(), 0.0
    while 'data-figures="calculating"' in (text := make_page(pool).text):
        if not first and "Calculating the newest run" not in text:
            first = time.perf_counter() - start
    took = time.perf_counter() - start
    return first or took, took


def compute_one_by_one(store: Store, runs: int) -> float:
    """Build the report of each run on the page by itself; return how many seconds that took."""
    newest = store.query(f"select run_id from runs order by started_at desc limit {runs}")
    start = time.perf_counter()
    for (run_id,) in newest:
        build_report(store, load_metrics(), run_id, version="0")
    return time.perf_counter() - start


def measure(place: str, claims: int, runs: int) -> dict[str, Any]:
    with open_store(place, create=True) as store:
        fill_claims(store, claims, runs)
        if store.engine_name == "postgresql":
            store.execute("analyze")
        labels = int(store.query("select count(*) from labels")[0][0])
        newest = store.query("select run_id from runs order by started_at desc limit 1")[0][0]
        start = time.perf_counter()
        summarize_project(store, Project(Path()), newest)
        rival = 1000 * (time.perf_counter() - start)
        one_by_one = compute_one_by_one(store, min(runs, MOST_RUNS))
    pool = StorePool(lambda: open_store(place))
    first, computed = wait_computed(pool)
    pages = [make_page(pool) for _ in range(PAGES)]
    pool.close()
    times = [page.wall for page in pages]
    return {
        "labels": labels,
        "median_ms": round(float(np.median(times)), 1),
        "p95_ms": round(float(np.percentile(times, 95)), 1),
        "p95_processor_ms": round(float(np.percentile([p.processor for p in pages], 95)), 1),
        "current": sum('data-figures="current"' in page.text for page in pages) / len(pages),
        "first_screen_s": round(first, 1),
        "compute_s": round(computed, 1),
        "one_by_one_s": round(one_by_one, 1),
        "rival_ms": round(rival, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs")
    parser.add_argument("--postgres", help="URL of an empty database")
    parser.add_argument("--only", choices=ENGINES, help="one database alone")
    given = parser.parse_args()
    claims, runs = (QUICK_CLAIMS, QUICK_RUNS) if given.quick else (CLAIMS, RUNS)
    found: dict[str, Any] = {"claims": claims, "runs": runs}
    engines = [given.only] if given.only else ENGINES
    with ExitStack() as ends:
        for engine in engines:
            if engine == "sqlite":
                place = f"{ends.enter_context(tempfile.TemporaryDirectory())}/store.db"
            else:
                place = given.postgres or ends.enter_context(start_postgres())
            found[engine] = measure(place, claims, runs)
            told = ", ".join(f"{name} {value}" for name, value in found[engine].items())
            print(f"{engine}: {told}", flush=True)
    found["holds"] = all(
        one["p95_ms"] <= MOST_MS
        and one["first_screen_s"] <= MOST_FIRST_S
        and (given.quick or one["compute_s"] <= one["one_by_one_s"])
        for one in (found[engine] for engine in engines)
    )
    print(json.dumps(found))


if __name__ == "__main__":
    main()
