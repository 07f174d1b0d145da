"""The page on agreement: who may see it, whose names it shows, and what it never runs."""

from __future__ import annotations

import json
import re
from html import unescape
from pathlib import Path

import pytest

from claimwise.agreement.people import measure_people
from claimwise.agreement.rules import make_rule_finder
from claimwise.app.agreement import hide_names
from claimwise.cli.main import run as run_command
from claimwise.report.format import show_percent, show_percent_range
from claimwise.store import Store
from small_data import answer, item, label, load, run, source
from support.app_server import RunningApp

HOSTILE = "<script>alert(1)</script> {{ 7*7 }} \u202e"


def read_text(html: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html)).split())


def test_labelers_do_not_see_others_labels(demo_app: RunningApp) -> None:
    assert demo_app.visit().get("/agreement/baseline").status_code in {303, 401}
    assert demo_app.enter("lou").get("/agreement/baseline").status_code == 403


def test_figures_are_those_of_the_command(
    demo_app: RunningApp, capsys: pytest.CaptureFixture[str]
) -> None:
    page = demo_app.enter("ada", "adjudicator").get_current("/agreement/baseline")
    capsys.readouterr()
    assert run_command(["agreement", "--run", "baseline", "--format", "json",
                        "--store", demo_app.place]) == 0  # fmt: skip
    found = json.loads(capsys.readouterr().out)
    text = read_text(page.text)
    assert page.status_code == 200
    for name in ("fleiss", "alpha", "ac1"):
        figure = found["overall"][name]
        assert f"{figure['value']:.2f} {figure['low']:.2f} to {figure['high']:.2f}" in text
    raw = found["overall"]["raw"]
    shown = f"{show_percent(raw['value'])} {show_percent_range(raw['low'], raw['high'])}"
    assert f"raw agreement {shown}" in text
    assert all(" ".join(line.split()) in text for line in found["reading"])


def test_names_are_for_admins(demo_app: RunningApp) -> None:
    judge = read_text(demo_app.enter("ada", "adjudicator").get_current("/agreement/baseline").text)
    admin = read_text(demo_app.enter("amy", "admin").get_current("/agreement/baseline").text)
    assert "person 1, person 2" in judge
    assert not re.search(r"\b(ana|ben)\b", judge)
    assert "ana, ben" in admin


def test_the_kinds_of_labels(demo_app: RunningApp) -> None:
    person = demo_app.enter("ada", "adjudicator")
    assert (
        "judged without sources"
        in person.get_current("/agreement/baseline?judgement=closed_book").text
    )
    assert "judged against sources" in person.get_current("/agreement/baseline?judgement=nope").text


@pytest.mark.parametrize("path", ["/agreement/nope", "/agreement/baseline?round=nope"])
def test_what_is_not_there(demo_app: RunningApp, path: str) -> None:
    answer = demo_app.enter("ada", "adjudicator").get(path)
    assert answer.status_code == 404
    assert "nope" in answer.text


def test_hostile_text_stays_text(app: RunningApp) -> None:
    with app.open() as store:
        load_hostile(store)
    page = app.enter("ada", "adjudicator").get_current("/agreement/r")
    assert page.status_code == 200
    assert "<script>" not in page.text
    assert "{{ 7*7 }}" in read_text(page.text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page.text
    assert " style=" not in page.text


def load_hostile(store: Store) -> None:
    load(
        store,
        source(),
        run(),
        *({"type": "labelers", "labeler": n, "labeler_kind": "human"} for n in ("ana", HOSTILE)),
        *(item(f"i{n} {HOSTILE}", query_type="lookup") for n in range(3)),
        *(answer(f"i{n} {HOSTILE}", HOSTILE) for n in range(3)),
        *(label(f"i{n} {HOSTILE}", HOSTILE, "unlinked") for n in range(3)),
        *(label(f"i{n} {HOSTILE}", HOSTILE, "stale", labeler=HOSTILE) for n in range(2)),
    )  # fmt: skip


def test_a_run_without_labels(app: RunningApp) -> None:
    with app.open() as store:
        load(store, source(), run(), item("i"), answer("i", "It is so."))
    text = read_text(app.enter("ada", "adjudicator").get_current("/agreement/r").text)
    assert "Agreement is unknown: no claim has two labels." in text


def test_hidden_names_are_nowhere(demo_store: Store) -> None:
    hidden = repr(hide_names(measure_people(demo_store, "baseline")))
    assert not re.search(r"\b(ana|ben)\b", hidden)


def test_rules_come_from_the_guide(demo_store: Store, tmp_path: Path) -> None:
    """The demo's own guide has no rule ids; the built-in one has."""
    find_rules = make_rule_finder(demo_store, tmp_path)
    assert find_rules("1", "unlinked", "overreach") == []
    assert find_rules("no such guide", "unlinked", "overreach") == []
    [first, *_] = find_rules("grounded-1", "overreach", "unlinked")
    assert re.match(r"R\d+ \w", first)


def test_a_run_whose_name_has_a_slash(app: RunningApp) -> None:
    with app.open() as store:
        load(store, source(), run("a/b"), item("i"), answer("i", "It is so.", run_id="a/b"))
    page = app.enter("ada", "adjudicator").get_current("/agreement/a/b")
    assert page.status_code == 200
    assert "<small>on a/b, judged against sources" in page.text


def test_what_is_known_is_not_measured_again(
    demo_app: RunningApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    person = demo_app.enter("ada", "adjudicator")
    first = read_text(person.get_current("/agreement/baseline?judgement=closed_book").text)

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("measured again")

    monkeypatch.setattr("claimwise.app.agreement.measure_people", refuse)
    second = read_text(person.get_current("/agreement/baseline?judgement=closed_book").text)
    assert "Measured at" in second
    assert second == first
