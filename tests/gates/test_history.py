"""Results of gates are events in both databases, and a store that can't keep them still decides."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from claimwise.config import Config, Project
from claimwise.gates.command import keep_or_warn
from claimwise.gates.history import keep_results, list_results
from claimwise.gates.run import run_gates
from claimwise.gates.values import Gate
from claimwise.metrics import load_metrics
from claimwise.store import Store
from small_data import answer, item, label, load, run, source
from support.gates import write_gates

pytestmark = pytest.mark.each_engine

GATE = Gate(metric="faithfulness", name="g", min=0.8)


def fill(store: Store) -> None:
    load(store, source(), run(), item("a"), answer("a", "one"), label("a", "one", "unlinked"))


def test_an_event_comes_back_as_it_was_kept(store: Store, tmp_path: Path) -> None:
    fill(store)
    project = Project(tmp_path, Config(gates=write_gates(GATE)))
    report = run_gates(store, project, "r")
    days = [datetime.fromisoformat(f"2026-03-0{day}T12:30") for day in (1, 2)]
    kept = [keep_results(store, report, load_metrics(), now=day)[0] for day in days]
    assert list_results(store) == kept[::-1]
    assert list_results(store, run_id="other") == list_results(store, names=["h"]) == []
    assert kept[0].inputs["gate"]["min"] == 0.8
    assert kept[0].decision["slices"][0]["rate"] == 0.0


def test_a_gate_that_has_spent_its_looks_says_so(store: Store, tmp_path: Path) -> None:
    """Looks are runs: deciding one run again is no further look."""
    load(store, source(), item("a"))
    for name in ("one", "two", "three"):
        load(store, run(name), answer("a", "one", run_id=name),
             label("a", "one", "unlinked", run_id=name))  # fmt: skip
    project = Project(tmp_path, Config(gates=write_gates(replace(GATE, looks=2))))
    notes = []
    for name in ("one", "two", "two", "three"):
        report = run_gates(store, project, name)
        keep_results(store, report, load_metrics())
        notes.append(report.gates[0].notes)
    assert notes[:3] == [(), (), ()]
    (note,) = notes[3]
    assert note.startswith("Look 3 of a gate that declares 2: false alarms are likelier than 5%")


def test_a_store_that_can_not_be_written_to_still_decides(
    store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fill(store)
    project = Project(tmp_path, Config(gates=write_gates(GATE)))
    report = run_gates(store, project, "r")
    with store.write():
        store.execute("drop table gate_results")
    keep_or_warn(store, project, report)
    assert "warning: the results are not kept" in capsys.readouterr().err
