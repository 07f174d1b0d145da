"""A run's rates cost what the run holds, however many other runs there are."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from claimwise.metrics import find_metric, load_metrics
from claimwise.metrics.catalogue import list_metrics
from claimwise.metrics.counting import count_items
from claimwise.metrics.judge_agreement import find_agreements
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
    return {
        metric.name: count_steps_of(store, partial(count_items, store, metric, "r", (), labels))
        for metric in wanted
    }


def count_steps_of(store: Store, work: Callable[[], object]) -> int:
    """Return how many steps SQLite takes for some work."""
    connection: sqlite3.Connection = store._engine._db  # type: ignore[attr-defined]
    steps = 0

    def add() -> None:
        nonlocal steps
        steps += _STRIDE

    connection.set_progress_handler(add, _STRIDE)
    try:
        work()
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


def test_agreement_looks_up_what_people_labelled_alone(tmp_path: Path) -> None:
    """A judge's labels of other claims are passed over in a few steps each."""
    judge: Record = {"type": "labelers", "labeler": JUDGE, "labeler_kind": "verifier"}
    person = label("q1", CLAIMS[0], "unlinked", labeler="ana", run_id="r")
    with open_store(str(tmp_path / "claimwise.db"), create=True) as store:
        load(store, judge, source(), *(item(f"q{n}") for n in range(4)), *make_run("r"), person)
        alone = count_steps_of(store, lambda: find_agreements(store))
        more = [row for n in range(30) for row in make_run(f"other-{n}")]
        load(store, *more)
        among_others = count_steps_of(store, lambda: find_agreements(store))
        agreement = find_agreements(store)[JUDGE]
    assert (agreement.micro, agreement.claims) == (1.0, 1)
    labels = sum(row["type"] == "labels" for row in more)
    assert labels == 600
    assert among_others - alone < 10 * labels  # looked up, each took 31
