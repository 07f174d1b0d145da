"""A run's rates cost what the run holds, however many other runs there are."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from claimwise.metrics import find_metric, load_metrics
from claimwise.metrics.catalogue import list_metrics
from claimwise.metrics.counting import count_items
from claimwise.store import Store, open_store
from small_data import Record, answer, item, label, load, run, source

JUDGE = "verifier:v-1"
CLAIMS = [f"claim {number}" for number in range(5)]
_STRIDE = 10  # steps of SQLite's virtual machine


def make_run(run_id: str) -> list[Record]:
    rows: list[Record] = [run(run_id)]
    for n in range(4):
        rows.append(answer(f"q{n}", *CLAIMS, run_id=run_id))
        rows += [label(f"q{n}", one, "unlinked", labeler=JUDGE, run_id=run_id) for one in CLAIMS]
    return rows


def count_steps(store: Store, labels: str) -> dict[str, int]:
    """Return how many steps SQLite takes to count each metric of the run r."""
    metrics = load_metrics()
    wanted = [*list_metrics(metrics, "main", "detail"), find_metric(metrics, "unscored_reasons")]
    connection: sqlite3.Connection = store._engine._db  # type: ignore[attr-defined]
    steps = dict.fromkeys((metric.name for metric in wanted), 0)
    for metric in wanted:

        def add(name: str = metric.name) -> None:
            steps[name] += _STRIDE

        connection.set_progress_handler(add, _STRIDE)
        try:
            count_items(store, metric, "r", (), labels)
        finally:
            connection.set_progress_handler(None, 0)
    return steps


@pytest.mark.parametrize("labels", ["default", "human", "verifier", f"labeler:{JUDGE}"])
def test_other_runs_cost_nothing(tmp_path: Path, labels: str) -> None:
    """Where the labels that may decide are narrowed, those of other runs are not read either."""
    judge: Record = {"type": "labelers", "labeler": JUDGE, "labeler_kind": "verifier"}
    with open_store(str(tmp_path / "claimwise.db"), create=True) as store:
        load(store, judge, source(), *(item(f"q{n}") for n in range(4)), *make_run("r"))
        alone = count_steps(store, labels)
        load(store, *(row for n in range(30) for row in make_run(f"other-{n}")))
        among_others = count_steps(store, labels)
    assert min(alone.values()) > 0
    assert {name for name, steps in among_others.items() if steps > 2 * alone[name]} == set()
