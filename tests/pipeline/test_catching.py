from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from claimwise.config import Config, Project
from claimwise.gates.values import Gate
from claimwise.incidents.gate_backtest import list_incidents
from claimwise.incidents.promotion import make_trace
from claimwise.incidents.queries import find_answer
from claimwise.store import Store
from claimwise.types.traces import Passage
from pipeline.test_incidents import PASSAGE, change, golden, promote
from small_data import answer, item, label, load, run, source
from support.gates import write_gates

__all__ = ["golden"]


def gate(name: str, metric: str = "faithfulness", **more: Any) -> Gate:
    limit = {} if "max" in more or "baseline" in more else {"min": 0.8}
    return Gate(name=name, metric=metric, **{**limit, **more})


def catches(store: Store, folder: Path, *gates: Gate) -> dict[str, list[str]]:
    found, warnings = list_incidents(store, Project(folder, Config(gates=write_gates(*gates))))
    assert warnings == []
    return {
        status.incident.item_id: [
            " ".join([catch.gate, *map(str, catch.slice.values())]) for catch in status.caught_by
        ]
        for status in found
    }


def test_gate_catches_what_its_metric_marks_down(golden: Store, tmp_path: Path) -> None:
    promote(golden)
    gates = (
        gate("all"),
        gate("sliced", by=("query_type", "stakes")),
        gate("stale", "stale_share", max=0.1),
        gate("contradicted", "verdict_shares", member="contradicted", max=0.1),
        gate("unlinked", "verdict_shares", member="unlinked", max=0.1),
        gate("relative", baseline="previous"),
        gate("recall", "context_recall"),
        gate("closed", "factual_precision"),
    )
    assert catches(golden, tmp_path, *gates) == {
        "balloon": ["all", "sliced lookup high", "contradicted", "relative"]
    }


def test_gate_looks_only_at_its_own_items(golden: Store, tmp_path: Path) -> None:
    load(golden, item("price", query="Is it dear?", attributes={"region": "EU"}))
    promote(golden)
    gates = (
        gate("incidents", where={"origin": "incident"}),
        gate("low", where={"stakes": "low"}),
        # No incident's item has a region: the column is known all the same.
        gate("eu", where={"region": "EU"}),
        gate("regions", by=("region",)),
    )
    assert catches(golden, tmp_path, *gates) == {"balloon": ["incidents", "regions None"]}


def test_answer_that_should_have_been_none(golden: Store, tmp_path: Path) -> None:
    promote(golden, answerable=False)
    pair = (gate("right", "correct_abstention"), gate("over", "over_refusal", max=0.1))
    assert catches(golden, tmp_path, *pair) == {"balloon": ["right"]}


@pytest.mark.each_engine
def test_refusal_that_should_have_been_an_answer(golden: Store, tmp_path: Path) -> None:
    promote(golden, change(answer="I don't know."))
    pair = (gate("right", "correct_abstention"), gate("over", "over_refusal", max=0.1))
    assert catches(golden, tmp_path, *pair) == {"balloon": ["over"]}


def test_retrieval_that_missed_the_gold_span(golden: Store, tmp_path: Path) -> None:
    load(golden, source("balloon", source_text=PASSAGE))
    promote(golden, change(passages=(Passage(source_id="doc", text="Dogs may come in."),)))
    recall = gate("recall", "context_recall")
    assert catches(golden, tmp_path, recall) == {"balloon": []}
    load(golden, {"type": "gold_spans", "item_id": "balloon", "source_id": "balloon",
                  "span_text": "80 euros", "required": True})  # fmt: skip
    assert catches(golden, tmp_path, recall) == {"balloon": ["recall"]}


def test_unscored_claims_are_caught_by_nothing(golden: Store, tmp_path: Path) -> None:
    promote(golden, change(passages=None))
    assert catches(golden, tmp_path, gate("all")) == {"balloon": []}
    [status] = list_incidents(golden, Project(tmp_path))[0]
    assert (status.wrong, status.unscored) == ((), 1)


@pytest.mark.each_engine
def test_claim_that_a_person_calls_wrong_is_caught(golden: Store, tmp_path: Path) -> None:
    promote(golden, change(passages=None), wrong=("60 euros",))
    assert catches(golden, tmp_path, gate("all")) == {"balloon": ["all"]}


def test_own_metrics_grade_incidents_too(golden: Store, tmp_path: Path) -> None:
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics/wrong_prices.sql").write_text(
        "-- title: Wrong prices\n-- meaning: claims with a price that are contradicted\n"
        "-- grain: one row per item\n-- better: lower\n"
        "select c.item_id as cluster_id, "
        "sum(case when d.verdict = 'contradicted' then 1 else 0 end) as numerator, "
        "count(*) as denominator from claims as c join deciding_labels as d "
        "on d.run_id = c.run_id and d.claim_id = c.claim_id and d.item_id = c.item_id "
        "where c.run_id = :run_id and c.claim_text like '%euros%' group by c.item_id\n",
        encoding="utf-8",
    )
    promote(golden)
    assert catches(golden, tmp_path, gate("prices", "wrong_prices", max=0.1)) == {
        "balloon": ["prices"]
    }


def test_gate_that_can_not_be_told_is_named(golden: Store, tmp_path: Path) -> None:
    promote(golden)
    project = Project(
        tmp_path, Config(gates=write_gates(gate("odd", by=("nonsense",)), gate("all")))
    )
    [status], [warning] = list_incidents(golden, project)
    assert warning.startswith("gate odd: can't be told: Unknown column 'nonsense'")
    assert [catch.gate for catch in status.caught_by] == ["all"]


@pytest.mark.each_engine
def test_listing_says_who_asked_it_since(golden: Store, tmp_path: Path) -> None:
    promote(golden)
    stored = find_answer(golden, "r/height")
    assert stored is not None
    promote(golden, make_trace(stored), "height", answerable=None, stored=stored)
    load(
        golden,
        run("r2", started_at="2026-12-01T00:00:00Z"),
        answer("balloon", "It is free.", run_id="r2"),
        label("balloon", "It is free.", "contradicted", run_id="r2"),
    )
    found, _ = list_incidents(golden, Project(tmp_path))
    told = {s.incident.item_id: (s.asked_in, s.state, s.wrong, s.caught_by) for s in found}
    assert told == {
        "balloon": ("r2", "needs spans", ("A ride in the balloon costs 60 euros.",), ()),
        "height": ("r", "ready", ("The tower is 200 m tall.",), ()),
    }


def test_incidents_survive_parquet(golden: Store, tmp_path: Path) -> None:
    pytest.importorskip("duckdb")
    from claimwise.store import open_store
    from claimwise.transfer import export_store

    promote(golden)
    export_store(golden, tmp_path / "out", "parquet")
    with open_store(tmp_path / "out") as exported:
        assert catches(exported, tmp_path, gate("all")) == {"balloon": ["all"]}
