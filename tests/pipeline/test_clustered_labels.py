"""Documents above items: what people's labels say is no surer than the documents are many."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from claimwise.agreement.people import measure_people
from claimwise.agreement.values import Figure
from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.calibration.correction import correct_run
from claimwise.calibration.values import TrustRule
from claimwise.comparison.drift import explain_drift
from claimwise.comparison.queries import find_pair
from claimwise.metrics import find_metric, load_metrics
from claimwise.store import Store, open_store
from claimwise.types.results import Settings
from small_data import Record, answer, item, label, load, run, source
from support.labelled_rounds import label_round

JUDGE = "verifier:v-1"
NOW = datetime(2026, 11, 16)  # noqa: DTZ001 - stores keep times in UTC without a zone
DOCUMENTS, ITEMS = 12, 8  # items of each document


def is_good(item_id: str, bad: int) -> bool:
    """Items are right or wrong as their document is: the first ``bad`` documents are wrong."""
    return int(item_id[1:]) // ITEMS >= bad


def make_run(run_id: str, bad: int, *, wrong: int, **labelers: int) -> list[Record]:
    """Two claims per item; the judge errs on the last ``wrong`` documents, people likewise."""
    rows: list[Record] = []
    for n in range(DOCUMENTS * ITEMS):
        name = f"i{n}"
        rows.append(answer(name, "one", "two", run_id=run_id))
        for who, errs in {JUDGE: wrong, **labelers}.items():
            good = is_good(name, bad) != (n // ITEMS >= DOCUMENTS - errs)
            rows += [
                label(name, text, "supported" if good else "unlinked", run_id=run_id, labeler=who,
                      label_kind="verifier" if who == JUDGE else "human")
                for text in ("one", "two")
            ]  # fmt: skip
    return rows


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """Two runs on twelve documents, which are the items' domains."""
    items = [item(f"i{n}", domain=f"d{n // ITEMS}") for n in range(DOCUMENTS * ITEMS)]
    with open_store(tmp_path / "store.db", create=True) as opened:
        load(opened, source(), run(), run("old", started_at="2025-12-01T00:00:00Z"), *items,
             {"type": "labelers", "labeler": JUDGE, "labeler_kind": "verifier"})  # fmt: skip
        yield opened


def measure_width(figure: Figure) -> float:
    assert figure.low is not None
    assert figure.high is not None
    return figure.high - figure.low


def test_agreement(store: Store) -> None:
    load(store, *make_run("r", 4, wrong=0, ana=0, ben=2))
    alone, together = (
        measure_people(store, "r", cluster=cluster).overall for cluster in (None, "domain")
    )
    assert together.fleiss.value == alone.fleiss.value
    assert (alone.items, together.items) == (96, 12)
    assert measure_width(together.fleiss) > 1.5 * measure_width(alone.fleiss)


def test_calibrations_and_trust(store: Store) -> None:
    load(store, *make_run("r", 4, wrong=1, ana=0, ben=0))
    alone, together = (
        calibrate_verifier(
            store, "v-1", now=NOW, by=(), rule=TrustRule(margin=0.4), cluster=cluster
        ).overall
        for cluster in (None, "domain")
    )
    assert together.balanced_accuracy.value == alone.balanced_accuracy.value
    assert measure_width(together.sensitivity) > 1.5 * measure_width(alone.sensitivity)
    assert (alone.items, together.items) == (96, 96)
    assert (alone.cluster, together.cluster) == (None, "domain")
    assert (alone.status, together.status) == ("trusted", "unknown")


def test_corrected_rates(store: Store) -> None:
    load(store, *make_run("r", 4, wrong=2))
    label_round(
        store, "r", 96, lambda name, _: "supported" if is_good(name, 4) else "unlinked",
        verifier=JUDGE,
    )  # fmt: skip
    alone, together = (correct_run(store, "r", cluster=cluster) for cluster in (None, "domain"))
    assert alone is not None
    assert together is not None
    assert together.value == alone.value
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert measure_width(together.labels_only) > 1.5 * measure_width(alone.labels_only)


def test_drift(store: Store) -> None:
    """Evidence and system are as before: the whole change is that of four documents."""
    load(store, *make_run("old", 2, wrong=0), *make_run("r", 6, wrong=0))
    metric = find_metric(load_metrics(), "faithfulness")
    alone, together = (
        explain_drift(store, metric, find_pair(store, "old", "r"), (), Settings(cluster=cluster))[0]
        for cluster in (None, "domain")
    )
    assert together.change == alone.change == pytest.approx(-1 / 3)
    assert together.high - together.low > 2 * (alone.high - alone.low)
    parts = [(one.change, one.high - one.low) for one in (alone.parts[0], together.parts[0])]
    assert parts[0][0] == parts[1][0]
    assert parts[1][1] > 2 * parts[0][1]
