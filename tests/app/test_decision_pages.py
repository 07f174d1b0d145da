"""Compare, drift, gates and incidents: their features' own figures, and links to the claims."""

from __future__ import annotations

import html
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claimwise.accounts.values import Account
from claimwise.app.compare import show_compare, show_drift
from claimwise.app.gate_pages import show_event, show_gates
from claimwise.app.incident_pages import show_incidents
from claimwise.app.requests import Call, Refusal, Response
from claimwise.comparison.flow import NOT_SCORED
from claimwise.config import Config, Project
from claimwise.gates.history import keep_results, list_outcomes
from claimwise.gates.run import run_gates
from claimwise.incidents.one_click import promote_answer
from claimwise.incidents.queries import read_stored_answer
from claimwise.metrics import load_metrics
from claimwise.store import Store
from small_data import answer, item, label, load, run, source

NOW = datetime.fromisoformat("2026-11-15T12:00:00")
GATE = '[[gates]]\nmetric = "faithfulness"\nname = "enough"\nmin = 0.9\nby = ["query_type"]\n'
HOSTILE = "<img src=x>"


def ask(store: Store, gates: str = "", **more: Any) -> Call:
    account = Account(account="maria", role="admin", created_at=NOW)
    project = Project(Path("/nowhere"), msgspec.toml.decode(gates.encode(), type=Config))
    return Call(store=store, account=account, project=project, now=NOW, **more)


def read(response: Response) -> str:
    body = response.body.decode()
    main = re.sub(r"<(svg|datalist).*?</\1>", " ", body[body.index("<main") :], flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def links(response: Response) -> set[str]:
    return {html.unescape(one) for one in re.findall(r'href="([^"]+)"', response.body.decode())}


def fill(store: Store) -> None:
    """Two runs over six items: one claim flips each way, one is new, one is gone."""
    said = {"old": ["supported"] * 5 + ["unlinked"], "new": ["contradicted"] + ["supported"] * 5}
    load(
        store,
        source(),
        *(
            item(
                f"q{n}", query=f"{'abcdef'[n] * 9}?", query_type="lookup" if n % 2 else "multi_hop"
            )
            for n in range(6)
        ),
        run("old", started_at="2026-01-01T00:00:00Z"),
        run("new", started_at="2026-01-02T00:00:00Z"),
        answer("q0", "It is tall.", "It is old.", run_id="old"),
        answer("q0", "It is tall.", HOSTILE, run_id="new"),
        *(answer(f"q{n}", "It is tall.", run_id=r) for r in said for n in range(1, 6)),
        *(label(f"q{n}", "It is tall.", v, run_id=r) for r in said for n, v in enumerate(said[r])),
        label("q0", "It is old.", "supported", run_id="old"),
        label("q0", HOSTILE, "overreach", run_id="new"),
    )


@pytest.mark.each_engine
def test_comparing_follows_every_verdict_to_its_claims(store: Store) -> None:
    fill(store)
    page = show_compare(ask(store))
    told = read(page)
    assert "Baseline: old 86%" in told.replace(" :", ":")
    assert "New: new 71%" in told.replace(" :", ":")
    assert "6 shared items. 2 claims flipped" in told
    assert "6 claims that both runs made in the same words; 2 got another verdict." in told
    assert "Made by one run only: 1 in old, 1 in new." in told
    assert told.index("✓ supported →") < told.index("○ unlinked →"), "what got worse comes first"
    assert {
        "/compare?base=old&new=new&from=supported&to=contradicted#flipped",
        "/compare?base=old&new=new&from=unlinked&to=supported#flipped",
        "/claims?run=old&verdict=unsupported",
        "/drift?base=old&new=new",
    } <= links(page)
    query = {"base": "old", "new": "new", "from": "supported", "to": "contradicted", "page": "9"}
    told = read(show_compare(ask(store, query=query)))
    assert "supported to contradicted" in told
    assert "○ unlinked →" not in told
    assert NOT_SCORED not in told


def test_a_pair_that_can_not_be_compared_says_why(store: Store) -> None:
    assert "There are no runs yet" in read(show_compare(ask(store)))
    fill(store)
    told = read(show_compare(ask(store, query={"new": "old"})))
    assert "old has no earlier run of its system. Choose a baseline." in told
    told = read(show_drift(ask(store, query={"new": "old", "base": "old"})))
    assert "Both runs are old. Choose two different runs." in told
    with pytest.raises(Refusal, match="no run “gone”"):
        show_compare(ask(store, query={"new": "gone"}))
    load(store, item("z"), run("z"), answer("z", "It is new.", run_id="z"))
    told = read(show_compare(ask(store, query={"base": "old", "new": "z"})))
    assert "have no item in common" in told


def test_drift_shows_parts_that_add_up(store: Store) -> None:
    fill(store)
    told = read(show_drift(ask(store)))
    assert "Faithfulness: 86% to 71% −14.3 points" in told
    rows = re.findall(r"(system|judge|evidence|mix|whole) ([+−][\d.]+) ", told)
    parts = [float(points.replace("−", "-")) for name, points in rows if name != "whole"]
    assert sum(parts) == pytest.approx(-14.3, abs=0.11)
    assert "instrument" not in told.lower()


@pytest.mark.each_engine
def test_gates_explain_what_they_decide_and_keep_it(store: Store) -> None:
    fill(store)
    call = ask(store, GATE)
    page = show_gates(call)
    told = read(page)
    assert "enough: Faithfulness at least 90% in every query_type" in told
    assert "None yet: claimwise gate keeps what it decides." in told
    assert "/claims?run=new&verdict=unsupported&group=query_type%3Dmulti_hop" in links(page)
    assert list_outcomes(store, ["old", "new"]) == {}
    report = run_gates(store, call.project, "new")
    (event,) = keep_results(store, report, load_metrics(), now=NOW)
    assert f"/gates/{event.event_id}" in links(show_gates(call))
    assert list_outcomes(store, ["old", "new"]) == {"new": report.outcome}
    call.path = {"event_id": event.event_id}
    told = read(show_event(call))
    assert "decided 2026-11-15 12:00 UTC" in told
    for found in report.gates[0].slices:
        assert found.reason[1:] in told
    call.path = {"event_id": "gone"}
    with pytest.raises(Refusal, match="no such result"):
        show_event(call)


def test_a_gate_without_runs_or_with_a_fault_says_so(store: Store) -> None:
    assert "There are no runs yet" in read(show_gates(ask(store)))
    fill(store)
    assert "Add a gate" in read(show_gates(ask(store)))
    told = read(show_gates(ask(store, '[[gates]]\nmetric = "faithfulness"\n')))
    assert "has no limit; add min, max or baseline" in told


@pytest.mark.each_engine
def test_incidents_say_how_far_they_are_and_what_comes_next(store: Store) -> None:
    assert "No incidents yet" in read(show_incidents(ask(store)))
    fill(store)
    stored = read_stored_answer(store, "new", "q0", 0)
    assert stored is not None
    promote_answer(store, stored, who="maria", answerable=False)
    page = show_incidents(ask(store, GATE))
    told = read(page)
    assert "0 Open" in told
    assert "1 Labelled" in told
    assert "It is tall." in told
    assert "Ask it in your next run" in told
    assert "/answers?run=new&item=q0&sample=0" in links(page)
    load(store, run("next", started_at="2026-01-03T00:00:00Z"),
         answer("incident-q0", "It is tall.", run_id="next"))  # fmt: skip
    told = read(show_incidents(ask(store, GATE)))
    assert "1 Caught by a gate" in told
    assert "enough (" in told
    assert "1 In tests" in read(show_incidents(ask(store)))
    assert "No incident is at this stage." in read(
        show_incidents(ask(store, GATE, query={"stage": "open"}))
    )


def test_hostile_texts_stay_texts(store: Store) -> None:
    fill(store)
    load(store, run("<b>bold", started_at="2026-01-09T00:00:00Z", system="x"))
    query = {"base": "old", "new": "new", "from": HOSTILE, "to": HOSTILE}
    for page in (show_compare(ask(store, query=query)), show_gates(ask(store, GATE)),
                 show_drift(ask(store, query={"metric": HOSTILE}))):  # fmt: skip
        assert HOSTILE not in page.body.decode()
        assert "<b>bold" not in page.body.decode()
