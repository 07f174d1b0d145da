"""What the desk's requests refuse, over HTTP: nothing changes, and one line says why."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from claimwise.app import gold_spans
from claimwise.app.app import list_routes
from claimwise.app.requests import Call
from claimwise.errors import StoreError
from claimwise.labelling.desk import (
    count_round,
    finish_entry,
    list_gold_entries,
)
from claimwise.labelling.names import name_tasks
from claimwise.labelling.queue import close_round, save_label, take_task
from claimwise.labelling.values import Choice
from claimwise.store import Store, open_store
from small_data import label, load, run
from support.app_server import Person, RunningApp, fill_path, run_app, utc_now
from support.copies import Fill
from support.desk_data import TOWER, fill_store, make_round
from support.monitored_traffic import TrafficWriter


def add_tower_round(store: Store) -> None:
    fill_store(store)
    make_round(store, "tower")


@pytest.fixture
def tower(copy_store: Callable[[Fill], str], tmp_path: Path) -> Iterator[tuple[RunningApp, str]]:
    """The app with a round on the tower, on each engine in turn."""
    place = copy_store(add_tower_round)
    with open_store(place) as store:
        round_id = store.query("select round_id from annotation_rounds")[0][0]
    with run_app(place, tmp_path) as app:
        yield app, round_id


def take(person: Person, round_id: str, held: int = 1) -> dict[str, Any]:
    answer = person.get(f"/api/rounds/{round_id}/batch?size={held}")
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()["claims"][held - 1]
    return found


def count_labels(app: RunningApp) -> int:
    with app.open() as store:
        return int(store.query("select count(*) from labels")[0][0])


GOOD = {"verdict": "contradicted", "source_id": "tower", "span_start": TOWER.index("Dogs"),
        "span_text": "Dogs may"}  # fmt: skip


ENTRY = {"type": "annotation_queue", "task": "gold_spans", "item_id": "tower-1",
         "reason": "made from an incident", "added_at": "2026-02-01T00:00:00Z"}  # fmt: skip


@pytest.mark.parametrize(
    ("choice", "status", "message"),
    [
        ({"verdict": "supported"}, 409, "needs a span"),
        ({**GOOD, "span_start": 3}, 409, "letter by letter"),
        ({**GOOD, "span_start": -1}, 409, "span_start"),
        ({**GOOD, "source_id": "'; drop table labels; --"}, 409, "source_id"),
        ({**GOOD, "verdict": "stale"}, 409, "still held"),
        ({**GOOD, "verdict": "overreach"}, 409, "part of the claim"),
        ({"verdict": "true"}, 409, "verdict"),
        ({"verdict": "unlinked", "labeler": "ben"}, 400, "labeler"),
        ({"verdict": 1}, 400, "str"),
        ([], 400, "object"),
    ],
)
def test_bad_choices_are_refused(
    tower: tuple[RunningApp, str], choice: Any, status: int, message: str
) -> None:
    app, round_id = tower
    ana = app.enter("ana")
    task_id = take(ana, round_id)["task"]["task_id"]
    answer = ana.post_json(f"/api/tasks/{task_id}/label", choice)
    assert answer.status_code == status
    assert message in answer.json()["error"].lower()
    assert "\n" not in answer.json()["error"]
    assert count_labels(app) == 0


def test_same_choice_twice_is_one_label(tower: tuple[RunningApp, str]) -> None:
    app, round_id = tower
    ana = app.enter("ana")
    task_id = take(ana, round_id)["task"]["task_id"]
    first, second = (ana.post_json(f"/api/tasks/{task_id}/label", GOOD) for _ in range(2))
    assert first.json() == second.json()
    assert count_labels(app) == 1


@pytest.mark.parametrize("what", ["label", "skip", "undo"])
def test_another_ones_task_is_refused(tower: tuple[RunningApp, str], what: str) -> None:
    app, round_id = tower
    ana, ben = app.enter("ana"), app.enter("ben")
    task_id = take(ana, round_id)["task"]["task_id"]
    body = {"label": {"verdict": "unlinked"}, "skip": {"reason": "no"}, "undo": {}}[what]
    for wrong in (task_id, "forged", "../../etc/passwd"):
        answer = ben.post_json(f"/api/tasks/{wrong}/{what}", body)
        assert answer.status_code in (404, 409), wrong
    page = ben.get(f"/label/{round_id}?task={task_id}")
    assert page.status_code == 409
    assert count_labels(app) == 0


def test_undo_sends_the_claim_and_the_own_label(tower: tuple[RunningApp, str]) -> None:
    app, round_id = tower
    ana = app.enter("ana")
    task_id = take(ana, round_id)["task"]["task_id"]
    assert ana.post_json(f"/api/tasks/{task_id}/label", GOOD).status_code == 200
    found = ana.post_json(f"/api/tasks/{task_id}/undo", {}).json()
    assert found["claim"]["task"]["task_id"] == task_id
    assert found["before"]["supporting_span"] == "Dogs may"
    again = ana.post_json(f"/api/tasks/{task_id}/undo", {})
    assert again.status_code == 409
    assert take(ana, round_id)["task"]["task_id"] == task_id


@pytest.mark.each_engine
def test_undo_takes_back_a_skip_and_the_audit_says_so(tower: tuple[RunningApp, str]) -> None:
    app, round_id = tower
    ana = app.enter("ana")
    task_id = take(ana, round_id)["task"]["task_id"]
    ana.post_json(f"/api/tasks/{task_id}/skip", {"reason": "can't read it"})
    assert take(ana, round_id)["task"]["task_id"] != task_id
    found = ana.post_json(f"/api/tasks/{task_id}/undo", {}).json()
    assert found["claim"]["task"]["task_id"] == task_id
    assert (found["before"], found["unskipped"]) == (None, True)
    assert take(ana, round_id)["task"]["task_id"] == task_id
    assert ana.post_json(f"/api/tasks/{task_id}/undo", {}).status_code == 409
    with app.open() as store:
        assert store.query("select count(*) from annotation_skips") == [(0,)]
        told = store.query("select event, detail from audit_events where subject = :task "
                           "order by happened_at", {"task": task_id})  # fmt: skip
    assert told == [("skip", "can't read it"), ("undo skip", "can't read it")]


@pytest.mark.each_engine
def test_a_page_that_another_login_has_overtaken_gets_no_claim(
    tower: tuple[RunningApp, str],
) -> None:
    """What a page asks for with its form token must be for the one who is logged in."""
    app, round_id = tower
    ana, ben = app.enter("ana"), app.enter("ben")
    path = f"/api/rounds/{round_id}/batch"
    assert ben.get(path, **{"x-csrf-token": ana.csrf}).status_code == 403
    with app.open() as store:
        assert store.query("select count(*) from annotation_slots where labeler = 'ben'") == [(0,)]
    assert ben.get(path, **{"x-csrf-token": ben.csrf}).status_code == 200
    assert ben.get(path).status_code == 200


@pytest.mark.each_engine
def test_what_i_did_lists_closed_rounds_too(tower: tuple[RunningApp, str]) -> None:
    app, round_id = tower
    ana, ben = app.enter("ana"), app.enter("ben")
    task_id = take(ana, round_id)["task"]["task_id"]
    ana.post_json(f"/api/tasks/{task_id}/label", {"verdict": "unlinked"})
    assert "not to be changed" not in ana.get("/label?all=1").text
    with app.open() as store:
        close_round(store, round_id, utc_now())
    page = ana.get("/label").text
    assert "There is no open round" in page
    assert "you can read it, not change it" in page
    assert f'href="/label/{round_id}?task={quote(task_id)}"' in page
    assert "What I did" not in ben.get("/label").text
    assert "it can't be changed" in ana.get(f"/label/{round_id}?task={task_id}").text
    for what, body in (("label", GOOD), ("undo", {})):
        answer = ana.post_json(f"/api/tasks/{task_id}/{what}", body)
        assert answer.status_code == 409
        assert "the round is closed" in answer.json()["error"].lower()


def test_many_closed_rounds_are_shown_when_asked_for(place: str, tmp_path: Path) -> None:
    with open_store(place, create=True) as store:
        fill_store(store)
        for number in range(8):
            now = utc_now()
            made = make_round(store, "tower", again=True, seed=number)
            task = take_task(store, made.round_id, "ana", now)
            assert task is not None
            save_label(store, task.task_id, "ana", Choice(verdict="unlinked"), now)
            if number:  # the first stays open, and comes first
                close_round(store, made.round_id, now)
    with run_app(place, tmp_path) as app:
        ana = app.enter("ana")
        page = ana.get("/label?all=1").text
        assert ["closed" in part.partition("</h3>")[0] for part in page.split("<h3>")[1:]] == [
            False, True, True, True, True, True,
        ]  # fmt: skip
        assert page.count('class="did stack"') == 6
        assert "2 older closed rounds" in page
        assert ana.get("/label?all=1&older=1").text.count('class="did stack"') == 8


def test_labelers_do_not_adjudicate(tower: tuple[RunningApp, str]) -> None:
    app, round_id = tower
    ana = app.enter("ana")
    task_id = take(ana, round_id)["task"]["task_id"]
    answer = ana.post_json(f"/api/disputes/{task_id}/decide", {"verdict": "unlinked"})
    assert answer.status_code == 403
    for path in (f"/adjudicate/{round_id}", f"/adjudicate/{round_id}/{task_id}", "/gold-spans"):
        assert ana.get(path).status_code == 403
    assert count_labels(app) == 0


def test_labelers_see_nothing_that_others_said(tower: tuple[RunningApp, str]) -> None:
    """Whatever a labeler may open, it tells neither a person's nor an instrument's verdict."""
    app, round_id = tower
    claim = {"run_id": "tower", "item_id": "tower-1", "claim_text": "Entry is free."}
    with app.open() as store:
        load(store, label(**claim, verdict="unlinked", labeler="verifier:tell-tale"))
    ana, ben = app.enter("tell-tale-ana"), app.enter("ben")
    for _ in range(3):
        task_id = take(ana, round_id)["task"]["task_id"]
        answer = ana.post_json(
            f"/api/tasks/{task_id}/label", {"verdict": "unlinked", "reason": "tell-tale"}
        )
        assert answer.status_code == 200
    seen = 0
    with app.open() as store:
        for route in list_routes():
            if route.method != "GET" or route.role is None:
                continue
            page = ben.get(fill_path(store, route.path))
            assert "tell-tale" not in page.text, route.path
            seen += page.status_code == 200
    assert seen >= 5
    assert all(take(ben, round_id, held)["task"]["mine"] is None for held in (1, 2))


@pytest.mark.each_engine
def test_adjudicators_find_what_waits_for_them(tower: tuple[RunningApp, str]) -> None:
    app, round_id = tower
    ana, ben, cleo = app.enter("ana"), app.enter("ben"), app.enter("cleo", "adjudicator")
    assert "Nothing to decide" in cleo.get("/adjudicate").text
    assert "between labelers to decide" not in cleo.get("/").text
    task_id = take(ana, round_id)["task"]["task_id"]
    ana.post_json(f"/api/tasks/{task_id}/label", {"verdict": "unlinked"})
    with app.open() as store:
        while (other := take_task(store, round_id, "ben", utc_now())) and other.task_id != task_id:
            save_label(store, other.task_id, "ben", Choice(verdict="unlinked"), utc_now())
    assert ben.post_json(f"/api/tasks/{task_id}/label", GOOD).status_code == 200
    assert 'href="/adjudicate"' in cleo.get("/").text, "what is to do leads there"
    assert "1 dispute between labelers to decide" in cleo.get("/").text
    page = cleo.get("/adjudicate").text
    assert f'href="/adjudicate/{round_id}"' in page
    assert '<strong>1</strong></td><td class="n" data-label="decided">0</td>' in page
    decided = cleo.post_json(f"/api/disputes/{task_id}/decide", {"verdict": "unlinked"})
    assert decided.status_code == 200
    assert '0</td><td class="n" data-label="decided">1</td>' in cleo.get("/adjudicate").text
    undone = cleo.post_json(f"/api/disputes/{task_id}/undo", {})
    assert undone.json() == {"undone": "unlinked"}
    assert (
        '<strong>1</strong></td><td class="n" data-label="decided">0</td>'
        in cleo.get("/adjudicate").text
    )
    assert cleo.post_json(f"/api/disputes/{task_id}/undo", {}).status_code == 409
    root = app.enter("root", "admin")
    audit = root.get("/audit").text
    with app.open() as store:
        text = name_tasks(store, [task_id])[task_id].claim_text
    assert f"“{html.escape(text)}” in Round on tower" in audit, (
        "claims and rounds by name, not by id"
    )
    assert task_id not in re.sub(r"refused.*", "", audit)
    cleo.post_json(f"/api/disputes/{task_id}/decide", {"verdict": "unlinked"})
    assert "between labelers to decide" not in cleo.get("/").text


@pytest.mark.each_engine
def test_of_two_decisions_at_once_the_second_hears_of_the_first(
    tower: tuple[RunningApp, str],
) -> None:
    app, round_id = tower
    ana, cleo, dora = app.enter("ana"), app.enter("cleo", "adjudicator"), app.enter("dora", "admin")
    task_id = take(ana, round_id)["task"]["task_id"]
    ana.post_json(f"/api/tasks/{task_id}/skip", {"reason": "not clear"})
    path = f"/api/disputes/{task_id}/decide"
    assert cleo.post_json(path, {"verdict": "unlinked", "replaces": None}).status_code == 200
    before = count_labels(app)
    answer = dora.post_json(path, {**GOOD, "replaces": None})
    assert answer.status_code == 409
    assert "while you had it open: cleo chose “unlinked” at" in answer.json()["error"]
    assert count_labels(app) == before
    assert cleo.post_json(path, {"verdict": "unlinked"}).status_code == 200, (
        "sent twice: saved once"
    )
    page = dora.get(f"/adjudicate/{round_id}/{task_id}").text
    shown = re.search(r'"decided":(\{[^}]*\})', page)
    assert shown
    seen = {name: json.loads(shown[1])[name] for name in ("labeler", "labeled_at")}
    assert dora.post_json(path, {**GOOD, "replaces": seen}).status_code == 200
    assert count_labels(app) == before + 1


def test_rounds_that_are_not_there(
    tower: tuple[RunningApp, str], capfd: pytest.CaptureFixture[str]
) -> None:
    app, _ = tower
    root = app.enter("root", "admin")
    for path in ("/label/none", "/adjudicate/none", "/adjudicate/none/none", "/rounds/none"):
        answer = root.get(path)
        assert answer.status_code == 404, path
        assert "There is no such round." in answer.text
        assert f"refused root: GET {path}: 404" in capfd.readouterr().err


def test_progress_is_the_own_one(tower: tuple[RunningApp, str]) -> None:
    app, round_id = tower
    ana, ben = app.enter("ana"), app.enter("ben")
    path = f"/api/rounds/{round_id}/batch"
    first = ana.get(path).json()
    assert (len(first["claims"]), len(first["held"])) == (6, 6)
    ids = [one["task"]["task_id"] for one in first["claims"]]
    ana.post_json(f"/api/tasks/{ids[0]}/label", {"verdict": "unlinked", "seconds": 30})
    ana.post_json(f"/api/tasks/{ids[1]}/skip", {"reason": "can't read it"})
    again = ana.get(f"{path}?have={ids[2]},{ids[3]}").json()
    assert [one["task"]["task_id"] for one in again["claims"]] == ids[4:]
    assert again["held"] == ids[2:]
    assert again["progress"] == {"done": 1, "left": 4, "seconds": 30}
    assert list(again["sources"]) == ["tower-1/0/tower"], "once for all claims of the answer"
    assert ben.get(path).json()["progress"] == {"done": 0, "left": 6, "seconds": None}
    assert ana.get(f"{path}?size=99").status_code == 400
    with app.open() as store:
        assert count_round(store, round_id).done == 1


@pytest.mark.each_engine
def test_a_save_is_kept_once_and_a_second_tab_loses_nothing(tower: tuple[RunningApp, str]) -> None:
    """Sent twice or late, it is one label; beside another tab's label, the later one is told."""
    app, round_id = tower
    ana, ben = app.enter("ana"), app.enter("ben")
    task_id = take(ana, round_id)["task"]["task_id"]
    path = f"/api/tasks/{task_id}/label"
    first = {**GOOD, "save_id": "1" * 32, "suggestion": 2}
    given = ana.post_json(path, first).json()
    assert ana.post_json(path, first).json() == given
    told = ana.post_json(path, {"verdict": "unlinked", "save_id": "2" * 32})
    assert told.status_code == 409
    assert "You labelled this claim “contradicted” at" in told.json()["error"]
    assert told.json()["mine"]["labeled_at"] == given["labeled_at"]
    assert count_labels(app) == 1
    seen = {"verdict": "unlinked", "save_id": "3" * 32, "seen": given["labeled_at"]}
    assert ana.post_json(path, seen).status_code == 200
    assert ana.post_json(path, first).status_code == 200, "late, and known"
    assert ana.post_json(f"/api/tasks/{task_id}/undo", {}).status_code == 200
    assert ana.post_json(path, seen).status_code == 200, "undone meanwhile: it stays so"
    other = take(ben, round_id)["task"]["task_id"]
    stolen = ben.post_json(f"/api/tasks/{other}/label", first)
    assert stolen.status_code == 409
    with app.open() as store:
        assert store.query("select verdict from labels order by labeled_at") == [
            ("contradicted",), ("unlinked",),
        ]  # fmt: skip
        assert store.query("select count(*) from standing_labels") == [(0,)]
        kept = store.query("select suggestion from annotation_saves order by save_id")
        events = "select detail from audit_events where event = 'label' order by happened_at"
        assert kept == [(2,), (None,)]
        assert store.query(events) == [("contradicted, suggestion 2",), ("unlinked",)]


@pytest.mark.each_engine
def test_every_run_is_found_for_a_round(tower: tuple[RunningApp, str]) -> None:
    app, _ = tower
    with app.open() as store:
        load(store, *(run(f"old-{n}", started_at="2020-01-01T00:00:00Z") for n in range(31)))
    root = app.enter("root", "admin")
    root.get("/rounds")
    found = root.get("/api/find-runs?q=OLD-30").json()["runs"]
    assert [one["run_id"] for one in found] == ["old-30"]
    made = root.post("/rounds", run="tower", judgement="grounded", size="9", overlap="0",
                     overlap_labels="2", floor="1", seed="0")  # fmt: skip
    assert made.status_code == 400
    assert "6 in the open round “Round on tower”" in made.text
    answer = root.post("/rounds", run="unicode", judgement="grounded", size="9", overlap="0",
                       overlap_labels="2", floor="1", seed="0")  # fmt: skip
    assert answer.status_code == 303
    assert "1 of 9 claims: the run has 1." in root.get(answer.headers["location"]).text


@pytest.mark.each_engine
def test_gold_spans_must_stand_in_the_document(tower: tuple[RunningApp, str]) -> None:
    app, _ = tower
    with app.open() as store:
        load(store, {**ENTRY, "entry_id": "g/1 ?"})
    cleo = app.enter("cleo", "adjudicator")
    link = re.search(r'href="(/gold-spans/g[^"]+)"', cleo.get("/gold-spans").text)
    assert link
    assert cleo.get(link[1]).status_code == 200
    found = cleo.get("/api/gold-documents?corpus=v1&q=tower").json()
    assert "tower" in [one["source_id"] for one in found["sources"]]
    span = {"source_id": "tower", "span_start": 0, "span_text": "The tower", "required": True}
    refused: list[dict[str, list[dict[str, Any]]]] = [
        {"spans": []},
        {"spans": [{**span, "span_text": "Der Turm"}]},
        {"spans": [{**span, "span_start": 5}]},
        {"spans": [{**span, "span_start": -2}]},
        {"spans": [{**span, "source_id": "nowhere"}]},
        {"spans": [{**span, "span_text": ""}]},
        {"spans": [span, {**span, "span_text": "Der Turm"}]},
    ]
    for bad in refused:
        answer = cleo.post_json("/api/gold-spans/g%2F1%20%3F", bad)
        assert answer.status_code == 400, bad
        assert "\n" not in answer.json()["error"]
    with app.open() as store:
        assert store.query("select count(*) from gold_spans") == [(0,)]
    assert cleo.post_json("/api/gold-spans/g%2F1%20%3F", {"spans": [span]}).status_code == 200
    assert cleo.post_json("/api/gold-spans/g%2F1%20%3F", {"spans": [span]}).status_code == 404


@pytest.mark.each_engine
def test_any_answer_and_any_claim_can_be_labelled(tower: tuple[RunningApp, str]) -> None:
    """Without a round; where an open one asks for the claim, the label is one of its own."""
    app, round_id = tower
    ana = app.enter("ana")
    assert "0 of 1" in ana.get("/label-answers?q=TOW").text
    path = "/label-answers/tower"
    page = ana.get(path).text
    assert "What should I know about the tower?" in page
    for bad in ({"item": "tower-1"}, {"correct": "yes"}, {"item": "none", "correct": "yes"}):
        assert ana.post(path, **bad).status_code in (400, 404)
    said = {"item": "tower-1", "sample": "0", "correct": "no", "reason": "it has no lift"}
    for _ in range(2):
        assert ana.post(path, **said).headers["location"] == path
    assert "All answers labelled" in ana.get(path).text
    assert "You said: <strong>wrong</strong>" in ana.get(f"{path}?item=tower-1").text
    with app.open() as store:
        told = "select correct, labeler, label_kind, reason from answer_labels"
        assert [(bool(row[0]), *row[1:]) for row in store.query(told)] == [
            (False, "ana", "human", "it has no lift")
        ]
        claims: dict[str, str] = dict(store.query("select claim_text, claim_id from claims"))
    for run_id, item_id, text, choice in (
        ("tower", "tower-1", "Entry is free.", GOOD),
        ("unicode", "unicode-1", "Die 🗼 ist 139 m hoch.", {"verdict": "unlinked"}),
    ):
        key = {"run_id": run_id, "item_id": item_id, "claim_id": claims[text]}
        asked = f"/label-claim?run={run_id}&item={item_id}&claim={claims[text]}"
        assert f"Claim of {item_id}" in ana.get(asked).text
        for _ in range(2):
            assert ana.post_json("/api/claims/label", {**choice, **key}).status_code == 200
        assert (
            ana.post_json("/api/claims/label", {"verdict": "supported", **key}).status_code == 409
        )
    assert ana.get("/label-claim?run=tower&item=tower-1&claim=none").status_code == 404
    with app.open() as store:
        assert store.audit() == []
        assert store.query(
            "select claim_text, inclusion_probability from labels order by run_id"
        ) == [("Entry is free.", 1.0), ("Die 🗼 ist 139 m hoch.", None)]
        done = "select labeler, round_id from annotation_slots where state = 'done'"
        assert store.query(done) == [("ana", round_id)]


@pytest.mark.each_engine
def test_golden_items_are_written_from_documents_and_their_spans_corrected(
    tower: tuple[RunningApp, str],
) -> None:
    app, _ = tower
    cleo = app.enter("cleo", "adjudicator")
    before = cleo.get("/gold-spans").text
    assert "No question is unanswerable" in before
    with app.open() as store:
        TrafficWriter(store).add_days(0, 1)
    assert cleo.get("/gold-spans").text == before, "live traffic is no golden set"
    assert "from the documents of v1" in cleo.get("/gold-spans/new").text
    span = {"source_id": "tower", "span_start": TOWER.index("Dogs"),
            "span_text": "Dogs may come in.", "required": True}  # fmt: skip
    new: dict[str, Any] = {
        "corpus_ver": "v1", "query": "May I bring a dog?", "query_type": "lookup",
        "answerable": True, "stakes": "low", "gold_answer": "Yes", "spans": [span],
    }  # fmt: skip
    nobody = {**new, "query": "Who built it?", "query_type": "unanswerable", "answerable": False,
              "gold_answer": "", "spans": []}  # fmt: skip
    action = {**new, "query": "Cancel it", "spans": [], "expected_action": "cancel(*)"}
    for bad, why in (
        ({**new, "query": " "}, "Write the question"),
        ({**new, "spans": []}, "Select the words"),
        ({**new, "query_type": "riddle"}, "Kind: expected"),
        ({**new, "spans": [{**span, "span_start": 0}]}, "span"),
        ({**nobody, "spans": [span]}, "no gold answer and no span"),
        ({**nobody, "query_type": "lookup", "answerable": True}, "Select the words"),
        ({**new, "query_type": "unanswerable"}, "can't answer"),
    ):
        answer = cleo.post_json("/api/gold-items", bad)
        assert (answer.status_code, why in answer.json()["error"]) == (400, True), answer.text
    made = [cleo.post_json("/api/gold-items", one) for one in (new, nobody, action)]
    assert [one.status_code for one in made] == [200, 200, 200]
    assert cleo.post_json("/api/gold-items", new).status_code == 409, "sent twice: made once"
    page = cleo.get("/gold-spans?q=a+DOG").text
    assert page.count("May I bring a dog?") == 1
    assert "Who built it?" not in page
    assert 'can\'t answer</th><td class="n">1</td><td class="n">12%</td>' in page
    item_id = made[0].json()["saved"]
    assert "Dogs may come in." in cleo.get(f"/gold-spans/items/{item_id}").text
    other = {**span, "span_text": "Dogs may come"}
    path = f"/api/gold-items/{item_id}"
    assert cleo.post_json(path, {"spans": [other]}).status_code == 400, "without a reason"
    assert cleo.post_json(path, {"spans": [other], "reason": "shorter"}).status_code == 200
    with app.open() as store:
        assert store.audit() == []
        mine = {"item_id": item_id}
        assert store.query("select span_text from gold_spans where item_id = :item_id", mine) == [
            ("Dogs may come",)
        ]
        assert store.query("select span_text, replaced_by, reason from gold_span_versions", {}) == [
            ("Dogs may come in.", "cleo", "shorter")
        ]


@pytest.mark.each_engine
@pytest.mark.parametrize("part", ["finish_entry", "audit"])
def test_gold_spans_are_saved_whole_or_not_at_all(
    tower: tuple[RunningApp, str], part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    app, _ = tower
    with app.open() as store:
        load(store, {**ENTRY, "entry_id": "g1"})
    cleo = app.enter("cleo", "adjudicator")
    span = {"source_id": "tower", "span_start": 0, "span_text": "The tower", "required": True}

    def fail(*_: object) -> None:
        raise StoreError("the disk is gone")

    with monkeypatch.context() as broken:
        broken.setattr(
            *{"finish_entry": (gold_spans, "finish_entry"), "audit": (Call, "audit")}[part], fail
        )
        assert cleo.post_json("/api/gold-spans/g1", {"spans": [span]}).status_code == 503
    with app.open() as store:
        assert store.query("select count(*) from gold_spans") == [(0,)]
        assert [one.entry_id for one in list_gold_entries(store)] == ["g1"]
        assert store.query("select count(*) from audit_events where event = 'gold spans'") == [(0,)]
    assert cleo.post_json("/api/gold-spans/g1", {"spans": [span]}).status_code == 200
    with app.open() as store:
        assert store.query("select count(*) from gold_spans") == [(1,)]
        assert list_gold_entries(store) == []
        assert store.query("select detail from audit_events where event = 'gold spans'") == [
            ("1 spans",)
        ]


@pytest.mark.each_engine
def test_of_two_who_give_gold_spans_the_second_changes_nothing(
    tower: tuple[RunningApp, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    app, _ = tower
    with app.open() as store:
        load(store, {**ENTRY, "entry_id": "g1"})
        waiting = list_gold_entries(store)
        finish_entry(store, "g1", utc_now())
    cleo = app.enter("cleo", "adjudicator")
    monkeypatch.setattr(
        gold_spans, "list_gold_entries", lambda _: waiting
    )  # looked a moment before
    span = {"source_id": "tower", "span_start": 0, "span_text": "The tower", "required": True}
    answer = cleo.post_json("/api/gold-spans/g1", {"spans": [span]})
    assert answer.status_code == 409
    assert "someone else was first" in answer.json()["error"]
    with app.open() as store:
        assert store.query("select count(*) from gold_spans") == [(0,)]
