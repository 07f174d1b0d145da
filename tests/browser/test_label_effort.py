"""What a label costs on the desk: keys and clicks as the browser counts them, over 25 demo claims.

Effort must not steer labels, so each verdict costs about as much as any other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.desk import aside, give_session, make_session, wait_ready, wait_saved
from browser.tabs import LendTab
from claimwise.accounts.queries import create_account
from claimwise.demo import list_demo_files
from claimwise.labelling.guide import read_guide
from claimwise.labelling.queue import NewTask, Stratum, add_guide, create_round, list_labels_of
from claimwise.labelling.values import GivenLabel, Round
from claimwise.store import Store, open_store
from support.app_process import AppProcess
from support.app_server import PASSWORD, utc_now
from support.copies import Fill, add_demo

RUN, ROUND = "candidate", "effort"
WANTED = {"supported": 15, "contradicted": 4, "overreach": 3, "unlinked": 2, "stale": 1}
KEYS = {"supported": "1", "unlinked": "2", "overreach": "3", "contradicted": "4", "stale": "5"}


def choose_labels() -> dict[str, dict[str, Any]]:
    """Return what a person said of 25 claims of the demo, by the claim's text."""
    path = next(one for one in list_demo_files() if one.stem == "labels")
    found: dict[str, dict[str, Any]] = {}
    left = dict(WANTED)
    for one in map(json.loads, path.read_text("utf-8").splitlines()):
        theirs = one["run_id"] == RUN and one["labeler"] == "ana"
        usable = one["verdict"] == "unlinked" or "source_id" in one
        if theirs and usable and left[one["verdict"]] > 0 and one["claim_text"] not in found:
            left[one["verdict"]] -= 1
            found[one["claim_text"]] = one
    assert not any(left.values())
    return found


def draw(store: Store, wanted: dict[str, dict[str, Any]]) -> None:
    """Make a round of these claims for eve."""
    create_account(store, "eve", "labeler", PASSWORD, utc_now())
    guide = read_guide("grounded")
    add_guide(store, guide.version, guide.text, utc_now())
    claims = store.query(
        "select claim_text, item_id, claim_id from claims where run_id = :run_id", {"run_id": RUN}
    )
    ids = {text: (item_id, claim_id) for text, item_id, claim_id in claims}
    tasks = [NewTask(n, *ids[text], "all", 1.0, 1) for n, text in enumerate(wanted)]
    new = Round(
        round_id=ROUND, run_id=RUN, judgement="grounded", title="Effort", overlap=0.0,
        overlap_labels=1, guide_version=guide.version, strata_by=None, seed=0, created_by="ada",
        created_at=utc_now(),
    )  # fmt: skip
    create_round(store, new, [Stratum("all", len(tasks), len(tasks))], tasks, utc_now())


def label(page: Page, said: dict[str, Any], *, by_mouse: bool) -> int:
    """Give the verdict that a person gave, with their text; return how many keys and clicks."""
    verdict = said["verdict"]
    page.evaluate("window.effort = 0")
    if by_mouse:
        page.locator(f"[data-verdict={verdict}]").click()
    else:
        page.keyboard.press(KEYS[verdict])
    if verdict == "unlinked":
        save = page.locator("#step-save")
        save.click() if by_mouse else page.keyboard.press("Enter")
    else:
        take(page, said["supporting_span"], by_mouse=by_mouse)
    if verdict == "overreach":
        offer = page.locator(".offer").first
        offer.click() if by_mouse else page.keyboard.press("q")
    wait_saved(page)
    return int(page.evaluate("window.effort"))


def take(page: Page, span: str, *, by_mouse: bool) -> None:
    """Take the text offered that is or holds a span; where none does, click on it in its source."""
    offers = page.locator(".offer-text").all_inner_texts()
    right = next((n for n, text in enumerate(offers) if text in span or span in text), None)
    if right is None:
        find(page, span)
    elif by_mouse:
        page.locator(".offer").nth(right).click()
    else:
        page.keyboard.press("qwe"[right])


def find(page: Page, span: str) -> None:
    words = span[:40]
    if words not in page.locator("#source-text").inner_text():
        titles = page.locator(".tab")
        for n in range(titles.count()):
            titles.nth(n).click()
            if words in page.locator("#source-text").inner_text():
                break
    page.locator("#source-text .md-p", has_text=words).get_by_text(words).first.click()


def add_effort(store: Store) -> None:
    """Add the demo data, and a round of the claims that are labelled."""
    add_demo(store)
    draw(store, choose_labels())


def read_given(place: str) -> tuple[dict[str, GivenLabel], int]:
    """Return the labels that were given by their claims, and how many took a suggestion."""
    with open_store(place) as store:
        assert store.audit() == []
        given = {one.claim_text: one.label for one in list_labels_of(store, ROUND, "eve", 50)}
        offered = store.query("select count(*) from annotation_saves where suggestion > 0")
        return given, offered[0][0]


@pytest.mark.each_engine
def test_each_verdict_costs_two_keys_or_clicks_and_none_much_more(
    copy_store: Callable[[Fill], str], lend_tab: LendTab, tmp_path: Path
) -> None:
    wanted = choose_labels()
    place = aside(copy_store, add_effort)
    costs: dict[tuple[str, bool], list[int]] = {}
    with AppProcess(tmp_path, place) as app:
        page = lend_tab().page
        give_session(page.context, aside(make_session, place, "eve"), app.address)
        page.goto(f"{app.address}/label/{ROUND}")
        wait_ready(page)
        page.evaluate(
            "for (const kind of ['keydown', 'click']) addEventListener(kind, (event) => "
            "{ if (event.isTrusted && (kind === 'keydown' || event.detail)) window.effort += 1; }, "
            "true)"
        )
        for number in range(len(wanted)):
            said = wanted[page.locator("#claim-text").inner_text()]
            by_mouse = number % 2 == 1
            cost = label(page, said, by_mouse=by_mouse)
            costs.setdefault((said["verdict"], by_mouse), []).append(cost)
            # At the end of a round few claims are fetched ahead: the next one may still be coming.
            expect(page.locator("#desk")).not_to_have_class(re.compile("waiting"))
        expect(page.locator("#finished h2")).to_have_text("You're done: 25 of 25")
        given, offered = aside(read_given, place)
    assert {text: one.verdict for text, one in given.items()} == {
        text: one["verdict"] for text, one in wanted.items()
    }
    for text, one in given.items():
        theirs, mine = wanted[text].get("supporting_span", ""), one.supporting_span or ""
        assert theirs in mine or mine in theirs, text
    assert offered >= 20, "suggestions mostly hold what people chose"
    for by_mouse in (False, True):
        assert median(costs["supported", by_mouse]) <= 2
    middle = {
        verdict: median(costs.get((verdict, False), []) + costs.get((verdict, True), []))
        for verdict in WANTED
    }
    assert max(middle.values()) - min(middle.values()) <= 1, middle
