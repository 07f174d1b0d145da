"""Adjudication, gold spans and the guide in a real Chromium, and accessibility of all our pages."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import pytest
from playwright.sync_api import expect

from browser.desk import Visit, log_in, pick, press, read_claim, unlink, wait_ready
from claimwise.labelling.queue import (
    close_round,
    list_disputes,
    list_labels_of,
    save_label,
    skip_task,
    take_task,
)
from claimwise.labelling.values import Choice, Task
from claimwise.store import Store
from small_data import load
from support.app_server import RunningApp, utc_now
from support.axe import find_flaws
from support.desk_data import TOWER, UNICODE, make_round


def choose(verdict: str, span: str | None = None, **more: Any) -> Choice:
    if span is None:
        return Choice(verdict=verdict, **more)
    return Choice(
        verdict=verdict, source_id="tower", span_start=TOWER.index(span), span_text=span, **more
    )


ANA = {
    "The tower is 139 m tall.": choose("supported", "At 139 m"),
    "The tower opened in 1999.": choose("supported", "opened in 1999"),
    "Entry is free.": choose("contradicted", "Entry costs 5 euros"),
    "All trains stop beside the tower.": choose(
        "overreach", "Trains on the Coast Line stop beside it.", covered_text="trains stop"
    ),
    "The tower has a lift.": choose("unlinked"),
    "Dogs may come in.": choose("supported", "Dogs may come in."),
}
BEN = {
    **ANA,
    "Entry is free.": choose("unlinked", reason="<b>no</b> price is given"),
    "All trains stop beside the tower.": choose("unlinked"),
    "The tower has a lift.": choose("overreach", "The tower stands", covered_text="The tower"),
    "Dogs may come in.": None,  # passes on it
}


def label_all(store: Store, round_id: str, labeler: str, choices: dict[str, Choice | None]) -> None:
    while task := take_task(store, round_id, labeler, utc_now()):
        answer_task(store, task, labeler, choices[task.claim_text], utc_now())


def answer_task(
    store: Store, task: Task, labeler: str, choice: Choice | None, now: datetime
) -> None:
    if choice is None:
        skip_task(store, task.task_id, labeler, "not clear", now)
    else:
        save_label(store, task.task_id, labeler, choice, now)


@pytest.fixture
def disputed(desk_app: RunningApp) -> str:
    """A round in which ana and ben differ on three claims."""
    with desk_app.open() as store:
        round_id = make_round(store, "tower").round_id
        label_all(store, round_id, "ana", dict(ANA))
        label_all(store, round_id, "ben", BEN)
    return round_id


def add_gold_entry(app: RunningApp) -> None:
    entry = {"type": "annotation_queue", "entry_id": "gold-1", "task": "gold_spans",
             "item_id": "tower-1", "reason": "made from an incident <i>",
             "added_at": "2026-02-01T00:00:00Z"}  # fmt: skip
    with app.open() as store:
        load(store, entry)


def test_disputes_are_grouped_by_pair_with_their_rules(
    desk_app: RunningApp, visit: Visit, disputed: str
) -> None:
    page = visit("cleo", f"/adjudicate/{disputed}")
    headings = page.locator(".pair-group h2").all_inner_texts()
    assert headings == ["overreach or unlinked 2 of 2 open", "contradicted or unlinked 1 of 1 open"]
    first = page.locator(".pair-group").first
    assert "R10 Unlinked or overreach?" in first.inner_text()
    text = page.locator("main").inner_text()
    assert "ana" not in text
    assert "ben" not in text


def test_disputes_are_decided_one_after_another(
    desk_app: RunningApp, visit: Visit, disputed: str
) -> None:
    page = visit("cleo", f"/adjudicate/{disputed}")
    page.locator(".disputes a").first.click()
    wait_ready(page)
    decided = {}
    for _ in range(2):
        claim = read_claim(page)
        sides = page.locator(".side .verdict-name").all_inner_texts()
        assert sorted(sides) == ["overreach", "unlinked"]
        decided[claim] = sides[0]
        press(page, "a")  # A, as it stands
        expect(page.locator("#claim-text")).not_to_have_text(claim)
        wait_ready(page)
    # The third: neither is right, so another one is given with the controls of the desk.
    claim = read_claim(page)
    assert claim == "Entry is free."
    assert "<b>no</b> price is given" in page.locator(".sides").inner_text()
    pick(page, "costs 5")
    press(page, "r")
    page.keyboard.type("a price is named")
    press(page, "Enter", "4")
    page.wait_for_url(f"**/adjudicate/{disputed}")
    with desk_app.open() as store:
        assert store.audit() == []
        found = {one.claim_text: one.decided for one in list_disputes(store, disputed)}
        kinds = store.query("select labeler, count(*) from labels where label_kind = 'adjudicated' "
                            "group by labeler")  # fmt: skip
    assert kinds == [("cleo", 3)]
    assert {claim: one.verdict for claim, one in found.items() if one} == {
        **decided,
        "Entry is free.": "contradicted",
    }
    own = found["Entry is free."]
    assert own is not None
    assert (own.supporting_span, own.reason) == ("costs 5", "a price is named")


def test_a_decision_is_undone_from_the_next_dispute(
    desk_app: RunningApp, visit: Visit, disputed: str
) -> None:
    page = visit("cleo", f"/adjudicate/{disputed}")
    page.locator(".disputes a").first.click()
    wait_ready(page)
    claim, here = read_claim(page), page.url
    said = page.locator(".side .verdict-name").first.inner_text()
    press(page, "a")
    expect(page.locator("#last-decision")).to_contain_text(f"You decided {said}: “{claim}”")
    wait_ready(page)
    press(page, "u")
    page.wait_for_url(here)
    wait_ready(page)
    assert read_claim(page) == claim
    expect(page.locator("#undo-this")).to_have_count(0)
    with desk_app.open() as store:
        assert not any(one.decided for one in list_disputes(store, disputed))


def test_of_two_adjudicators_the_second_hears_of_the_first_and_may_replace_it(
    desk_app: RunningApp, visit: Visit, disputed: str
) -> None:
    with desk_app.open() as store:
        task_id = next(
            one.task_id
            for one in list_disputes(store, disputed)
            if one.claim_text == "Entry is free."
        )
    path = f"/adjudicate/{disputed}/{task_id}"
    first, second = visit("cleo", path), visit("ada", path)
    press(first, "a")  # contradicted, as ana has it
    first.wait_for_url(lambda url: task_id not in url)
    press(second, "b")
    expect(second.locator("#status")).to_contain_text("cleo chose “contradicted”")
    second.reload()
    wait_ready(second)
    press(second, "b")
    second.wait_for_url(lambda url: task_id not in url)
    with desk_app.open() as store:
        told = store.query("select labeler, verdict from labels where label_kind = 'adjudicated' "
                           "order by labeled_at")  # fmt: skip
    assert told == [("cleo", "contradicted"), ("ada", "unlinked")]


def test_spans_of_all_labels_are_marked_in_the_source(
    desk_app: RunningApp, visit: Visit, disputed: str
) -> None:
    with desk_app.open() as store:
        task = next(
            one for one in list_disputes(store, disputed) if one.claim_text.startswith("All")
        )
    page = visit("cleo", f"/adjudicate/{disputed}/{task.task_id}")
    marked = page.evaluate(
        "['label-0', 'label-1'].flatMap(name => Array.from(CSS.highlights.get(name) ?? [], "
        "range => range.toString()))"
    )
    assert marked == ["Trains on the Coast Line stop beside it."]


def test_names_are_for_an_admin_who_asks(desk_app: RunningApp, visit: Visit, disputed: str) -> None:
    with desk_app.open() as store:
        task_id = list_disputes(store, disputed)[0].task_id
    path = f"/adjudicate/{disputed}/{task_id}"
    for page in (visit("cleo", f"{path}?names=1"), visit("ada", path)):
        assert "ana" not in page.content().replace("/ana", "")
    page = visit("ada", f"{path}?names=1")
    assert "ana" in page.locator(".sides").inner_text()
    with desk_app.open() as store:
        assert store.query("select account from audit_events where event = 'names shown'") == [
            ("ada",)
        ]


def test_gold_spans_are_chosen_and_the_entry_is_gone(desk_app: RunningApp, visit: Visit) -> None:
    add_gold_entry(desk_app)
    page = visit("cleo", "/gold-spans")
    assert "made from an incident <i>" in page.locator("main").inner_text()
    page.locator("tbody a", has_text="What should").first.click()
    wait_ready(page)
    page.fill("#find-words", "139 m HOCH")
    press(page, "Enter")
    expect(page.locator("#status")).to_have_text("1 document found.")
    page.locator("#claim-heading, h1").first.click()
    pick(page, "Turm", "Control+Shift+ArrowRight")
    pick(page, "End", "Shift+ArrowRight")
    page.locator("#chosen input[type=checkbox]").nth(1).uncheck()
    page.locator("#save").click()
    page.wait_for_url("**/gold-spans")
    assert "Nothing waits here" in page.locator("main").inner_text()
    with desk_app.open() as store:
        assert store.audit() == []
        spans = store.query("select span_text, required, span_start from gold_spans order by 3")
    assert [(text, bool(required), start) for text, required, start in spans] == [
        ("Turm ist 139 m hoch.", True, UNICODE.index("Turm ist")),
        ("End 🎉", False, UNICODE.index("End 🎉")),
    ]


def test_a_question_is_written_from_a_document(desk_app: RunningApp, visit: Visit) -> None:
    page = visit("cleo", "/gold-spans/new")
    page.get_by_role("textbox", name="Question").fill("How tall is the tower?")
    page.get_by_label("Right answer", exact=True).fill("139 m")
    page.get_by_label("The documents can't answer it").check()
    assert page.get_by_label("Kind", exact=True).input_value() == "unanswerable"
    page.get_by_label("The documents can't answer it").uncheck()
    page.get_by_label("Right answer", exact=True).fill("139 m")
    page.locator(".tab", has_text="The tower, a guide").click()
    page.locator("#source-text .md-p").first.click()
    chosen = page.locator("#chosen q").inner_text()
    assert chosen in ("The tower stands by the river.", "At 139 m it is the tallest in the county.")
    page.locator("#save").click()
    page.wait_for_url("**/gold-spans/new?corpus=v1")
    with desk_app.open() as store:
        assert store.audit() == []
        made = (
            "select e.query, e.query_type, g.source_id, g.span_start, g.span_text from gold_spans "
        )
        assert store.query(f"{made} as g join eval_items as e on e.item_id = g.item_id") == [
            ("How tall is the tower?", "lookup", "tower", TOWER.index(chosen), chosen)
        ]


def test_gold_spans_chosen_before_a_logout_are_saved_after_it(
    desk_app: RunningApp, visit: Visit
) -> None:
    add_gold_entry(desk_app)
    page = visit("cleo", "/gold-spans/gold-1")
    pick(page, "tower", "Control+Shift+ArrowRight")
    expect(page.locator("#chosen li")).to_have_count(1)
    page.context.clear_cookies()
    page.locator("#save").click()
    expect(page.locator("#logged-out")).to_be_visible()
    with desk_app.open() as store:
        assert store.query("select count(*) from gold_spans") == [(0,)]
    log_in(page.context, desk_app, "cleo")
    page.wait_for_url("**/gold-spans")
    with desk_app.open() as store:
        assert store.query("select count(*) from gold_spans") == [(1,)]


def test_guide_shows_rules_and_pairs(desk_app: RunningApp, visit: Visit) -> None:
    page = visit("ana", "/guide")
    page.locator("a", has_text="How to judge claims against sources").click()
    assert page.locator("#R10").inner_text() == "R10 · Unlinked or overreach?"
    row = page.locator("tbody tr", has_text="unlinked or overreach")
    assert "R10" in row.inner_text()


STATES = ("desk", "rules", "skip", "covered", "stale", "action", "closed", "label", "guide",
          "guides", "adjudicate", "disputes", "dispute", "gold", "gold entry", "rounds", "round",
          "people", "audit", "account", "refused", "not found", "login", "finished", "read only",
          "logged out", "start", "offers", "new item", "item", "answers", "answer",
          "one claim")  # fmt: skip


def test_pages_are_accessible_and_fit(desk_app: RunningApp, visit: Visit, disputed: str) -> None:
    add_gold_entry(desk_app)
    with desk_app.open() as store:
        rounds = {
            "tower": make_round(store, "unicode").round_id,
            "stale": make_round(store, "stale").round_id,
            "action": make_round(store, "action").round_id,
            "closed": make_round(store, "tower", "closed_book").round_id,
        }
        dispute = list_disputes(store, disputed)[0].task_id
    page = visit("ada", "/label?all=1")
    found: dict[str, list[str]] = {"start": find_flaws(page)}

    def look(state: str, path: str | None = None, *keys: str) -> None:
        if path:
            page.goto(desk_app.url + path)
            if page.locator("#desk").count():
                wait_ready(page)
        press(page, *keys)
        found[state] = find_flaws(page)

    look("desk", f"/label/{rounds['tower']}")
    look("rules", None, "?")
    look("skip", None, "Escape", "k")
    look("offers", None, "Escape", "3")
    look("covered", None, "q")
    look("stale", f"/label/{rounds['stale']}")
    look("action", f"/label/{rounds['action']}", "s", "Enter")
    look("closed", f"/label/{rounds['closed']}")
    look("guides", "/guide")
    look("guide", "/guide/grounded-2")
    look("adjudicate", "/adjudicate")
    look("disputes", f"/adjudicate/{disputed}")
    look("dispute", f"/adjudicate/{disputed}/{dispute}")
    look("gold", "/gold-spans")
    look("gold entry", "/gold-spans/gold-1", "s", "Enter")
    look("new item", "/gold-spans/new", "s", "Enter")
    look("item", "/gold-spans/items/tower-1")
    look("answers", "/label-answers")
    look("answer", "/label-answers/tower")
    look("one claim", page.locator("tbody a").first.get_attribute("href"), "1")
    look("rounds", "/rounds")
    look("round", f"/rounds/{disputed}")
    look("people", "/people")
    look("audit", "/audit")
    look("account", "/account")
    look("refused", "/rounds/none")
    look("not found", "/nowhere")
    page.goto(f"{desk_app.url}/label/{rounds['stale']}")
    wait_ready(page)
    unlink(page)
    page.wait_for_selector("#finished:not([hidden])")
    look("finished")
    with desk_app.open() as store:
        close_round(store, rounds["stale"], utc_now())
        done = list_labels_of(store, rounds["stale"], "ada")[0].task_id
    look("read only", f"/label/{rounds['stale']}?task={done}")
    look("label", "/label?all=1")
    page.goto(f"{desk_app.url}/label/{rounds['tower']}")
    wait_ready(page)
    page.context.clear_cookies()
    unlink(page)
    expect(page.locator("#logged-out")).to_be_visible()
    look("logged out")
    look("login", "/people")
    assert set(found) == set(STATES)
    assert {state: lines for state, lines in found.items() if lines} == {}
