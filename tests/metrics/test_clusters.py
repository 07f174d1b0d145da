"""Clusters above the item: one setting for intervals, comparisons and gates."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.comparison.compare import compare_runs
from claimwise.comparison.queries import RunPair
from claimwise.config import Config, MetricsSection, Project
from claimwise.errors import MetricError
from claimwise.gates.run import run_gates
from claimwise.gates.values import Gate
from claimwise.metrics import estimate_metric, find_metric, load_metrics
from claimwise.metrics.clusters import describe_shared, map_clusters
from claimwise.store import Store
from claimwise.store.lookup import find_run
from claimwise.types.results import Settings
from small_data import Record, answer, item, label, load, run, source
from support.gates import write_gates

METRIC = find_metric(load_metrics(), "faithfulness")
DOCUMENTS = 12


def make_run(run_id: str, good: int) -> list[Record]:
    """Sixty items, five per document, which are right or wrong as their document is."""
    rows: list[Record] = []
    for n in range(5 * DOCUMENTS):
        document, name = n // 5, f"i{n}"
        right = document < good
        span = {"supporting_span": "It opened in 1999.", "source_id": "doc"} if right else {}
        rows += [answer(name, "one", run_id=run_id)]
        verdict = "supported" if right else "unlinked"
        rows += [label(name, "one", verdict, run_id=run_id, **span)]
    return rows


@pytest.fixture
def filled(store: Store) -> Store:
    items = [item(f"i{n}", domain=f"d{n // 5}") for n in range(5 * DOCUMENTS)]
    load(store, source(), run(), run("old"), *items, *make_run("r", 9), *make_run("old", 11))
    return store


def measure(store: Store, cluster: str | None) -> tuple[float, int]:
    settings = Settings(cluster=cluster)
    (found,) = estimate_metric(store, METRIC, "r", (), settings).overall
    assert found.low is not None
    assert found.high is not None
    assert found.micro == pytest.approx(0.75)
    return found.high - found.low, found.items


@pytest.mark.each_engine
def test_items_that_stand_and_fall_together_widen_the_interval(filled: Store) -> None:
    alone, items = measure(filled, None)
    together, clusters = measure(filled, "domain")
    assert (items, clusters) == (60, 12)
    assert together > 1.8 * alone
    assert measure(filled, "item") == (alone, items)


def test_an_unknown_cluster_is_refused(filled: Store) -> None:
    with pytest.raises(MetricError, match="Unknown cluster 'colour'"):
        measure(filled, "colour")


@pytest.mark.each_engine
def test_comparisons_have_the_same_clusters(filled: Store) -> None:
    runs = RunPair(find_run(filled, "old"), find_run(filled, "r"))
    widths = []
    for cluster in (None, "domain"):
        found = compare_runs(filled, [METRIC], runs, (), Settings(cluster=cluster))
        (change,) = found.metrics[0].overall
        assert change.low is not None
        assert change.high is not None
        assert change.items == 60
        widths.append(change.high - change.low)
    assert widths[1] > 1.5 * widths[0]


def test_gates_have_the_same_clusters(filled: Store, tmp_path: Path) -> None:
    """Sixty independent items surely reach 0.6; twelve documents don't."""
    gates = write_gates(Gate(metric="faithfulness", name="g", min=0.6))
    project = Project(tmp_path, Config(gates=gates))
    assert run_gates(filled, project, "r").gates[0].outcome == "pass"
    found = run_gates(filled, project, "r", cluster="domain").gates[0]
    assert (found.outcome, found.slices[0].items) == ("inconclusive", 60)
    said = Config(gates=gates, metrics=MetricsSection(cluster="domain"))
    assert run_gates(filled, Project(tmp_path, said), "r").gates[0].outcome == "inconclusive"


def test_documents_are_those_of_gold_spans_or_contexts(store: Store) -> None:
    given = {"source_id": "b", "context_text": "It opened."}
    load(
        store, source("a"), source("b"), run(), item("x"), item("y"), item("z"),
        {"type": "gold_spans", "item_id": "x", "source_id": "a", "span_text": "It opened in 1999.",
         "required": True},
        answer("x", contexts=[given]), answer("y", contexts=[given]), answer("z"),
    )  # fmt: skip
    assert map_clusters(store, "r", "document") == {"x": "a", "y": "b"}
    assert map_clusters(store, "r") == map_clusters(store, "r", "item") == {}


@pytest.mark.each_engine
def test_items_that_share_a_document_are_pointed_out(store: Store) -> None:
    given = [{"source_id": "doc", "context_text": "It opened."}]
    rows = [r for n in range(4) for r in (item(f"i{n}"), answer(f"i{n}", contexts=given))]
    load(store, source(), run(), *rows)
    told = describe_shared(store, "r")
    assert told is not None
    assert told.startswith("4 of 4 items share a document with others")
    assert describe_shared(store, "r", "item") is describe_shared(store, "r", "document") is None
