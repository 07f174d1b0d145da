"""The labelling desk in a real Chromium, over a real server."""

from __future__ import annotations

import json
import re
from typing import Any

from playwright.sync_api import Page, Route, expect

from browser.desk import (
    Visit,
    log_in,
    pick,
    press,
    read_claim,
    unlink,
    wait_ready,
    wait_saved,
    wait_settled,
    wait_status,
)
from claimwise.labelling.queue import close_round, list_labels_of, read_progress
from support.app_server import PASSWORD, RunningApp, utc_now
from support.desk_data import HOSTILE, HOSTILE_ANSWER, TOWER, UNICODE, make_round

# How each claim of the tower is labelled by keyboard: words to search, keys to mark, verdict.
BY_KEYBOARD: dict[str, tuple[str, tuple[str, ...], str]] = {
    "The tower is 139 m tall.": ("at 139 m", (), "1"),
    "The tower opened in 1999.": ("opened in 1999", (), "1"),
    "Entry is free.": ("entry costs", ("Shift+ArrowRight", "Shift+ArrowRight"), "4"),
    "All trains stop beside the tower.": ("Trains on the", ("Control+Shift+ArrowRight",), "3"),
    "The tower has a lift.": ("", (), "2"),
    "Dogs may come in.": ("dogs", ("Control+Shift+ArrowRight",), "1"),
}


def start_round(app: RunningApp, run_id: str, **more: Any) -> str:
    with app.open() as store:
        return make_round(store, run_id, **more).round_id


def read_labels(app: RunningApp, round_id: str, labeler: str) -> dict[str, Any]:
    with app.open() as store:
        assert store.audit() == []
        return {one.claim_text: one.label for one in list_labels_of(store, round_id, labeler, 50)}


def test_six_claims_by_keyboard_alone(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")  # one round waits: straight to it
    assert page.url.endswith(f"/label/{round_id}")
    seen = []
    for _ in range(len(BY_KEYBOARD)):
        claim = read_claim(page)
        seen.append(claim)
        words, keys, verdict = BY_KEYBOARD[claim]
        if words:
            pick(page, words, *keys)
        press(page, verdict, *(["Enter"] if verdict == "2" else []))
        if verdict == "3":
            press(page, "ArrowRight", "ArrowRight", *["Shift+ArrowRight"] * 4, "Enter")
        if len(seen) < len(BY_KEYBOARD):
            expect(page.locator("#claim-text")).not_to_have_text(claim)
    page.wait_for_selector("#finished:not([hidden])")
    assert sorted(seen) == sorted(BY_KEYBOARD)
    labels = read_labels(desk_app, round_id, "ana")
    assert {claim: (one.verdict, one.supporting_span) for claim, one in labels.items()} == {
        "The tower is 139 m tall.": ("supported", "At 139 m"),
        "The tower opened in 1999.": ("supported", "opened in 1999"),
        "Entry is free.": ("contradicted", "Entry costs 5 euros,"),
        "All trains stop beside the tower.":
            ("overreach", "Trains on the Coast Line stop beside it."),
        "The tower has a lift.": ("unlinked", None),
        "Dogs may come in.": ("supported", "Dogs may come in."),
    }  # fmt: skip
    assert (
        labels["All trains stop beside the tower."].covered_text == "trains stop beside the tower."
    )
    assert {one.guide_version for one in labels.values()} == {"grounded-2"}


def test_next_claim_shows_before_the_last_one_is_saved(desk_app: RunningApp, visit: Visit) -> None:
    """It was fetched while someone read: nothing is waited for between the key and the claim."""
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    held: list[Route] = []
    page.route("**/label", lambda route: held.append(route))
    for _ in range(4):
        wait_settled(page)
        claim = read_claim(page)
        with page.expect_request("**/label"):
            unlink(page)
        assert read_claim(page) != claim
        assert page.locator("#status").inner_text() == "Saving unlinked …"
        held.pop().continue_()
        wait_saved(page)
    took = page.evaluate("performance.getEntriesByName('next-claim').map(one => one.duration)")
    assert len(took) == 4


def test_key_held_down_labels_one_claim(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    press(page, "2")
    page.keyboard.down("Enter")
    wait_saved(page)
    press(page, "2")
    for _ in range(3):
        page.keyboard.down("Enter")  # the browser calls it a repeat
    page.keyboard.up("Enter")
    assert page.locator("#step-save").is_visible()
    assert len(read_labels(desk_app, round_id, "ana")) == 1


def test_span_by_mouse_snaps_to_words(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    claim = read_claim(page)
    x1, x2, y = place_of(page, "9 after four yea")
    page.mouse.move(x1 + 2, y)
    page.mouse.down()
    page.mouse.move(x2 - 2, y, steps=4)
    page.mouse.up()
    expect(page.locator("#evidence q")).to_have_text("1999 after four years")
    press(page, "4")
    wait_saved(page)
    label = read_labels(desk_app, round_id, "ana")[claim]
    assert label.supporting_span == "1999 after four years"
    assert label.span_start == TOWER.index("1999 after")


def test_verdict_first_then_one_click_on_a_sentence(desk_app: RunningApp, visit: Visit) -> None:
    """The buttons stay where they are, none looks disabled, and nothing is chosen beforehand."""
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    claim = read_claim(page)
    buttons = page.locator("[data-verdict]")
    places = [one.bounding_box() for one in buttons.all()]
    assert page.locator("#offers li").count() == 0, "nothing is suggested before the verdict"
    assert page.locator("[data-verdict][aria-disabled]").count() == 0
    buttons.nth(3).click()
    assert [one.bounding_box() for one in buttons.all()] == places
    assert page.locator("#offers li").count() == 3
    assert page.locator("#evidence q").count() == 0
    assert read_labels(desk_app, round_id, "ana") == {}
    left, right, y = place_of(page, "children")
    page.mouse.click((left + right) / 2, y)
    wait_saved(page)
    label = read_labels(desk_app, round_id, "ana")[claim]
    assert (label.verdict, label.supporting_span) == (
        "contradicted", "Entry costs 5 euros, and children pay half.",
    )  # fmt: skip
    with desk_app.open() as store:
        assert store.query("select suggestion from annotation_saves") == [(0,)]


def place_of(page: Page, words: str, where: str = "source-text") -> tuple[float, float, float]:
    """Return where words of a text are on the screen: left, right and middle height."""
    left, right, top, bottom = page.evaluate(
        """([words, where]) => {
          const walker = document.createTreeWalker(document.getElementById(where), 4);
          while (!walker.nextNode().data.includes(words));
          const node = walker.currentNode;
          const range = document.createRange();
          const at = node.data.indexOf(words);
          range.setStart(node, at);
          range.setEnd(node, at + words.length);
          const box = range.getBoundingClientRect();
          return [box.left, box.right, box.top, box.bottom];
        }""",
        [words, where],
    )
    return left, right, (top + bottom) / 2


def test_double_click_takes_a_word(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    left, right, y = place_of(page, "children")
    page.mouse.dblclick((left + right) / 2, y)
    page.wait_for_selector("#evidence q")
    assert page.locator("#evidence q").inner_text() == "children"
    # Cleared while the desk still waits for the selection to rest: it must not come back.
    page.evaluate(
        """() => new Promise(done => {
          document.dispatchEvent(new Event('selectionchange'));
          document.getElementById('evidence-clear').click();
          setTimeout(done, 400);  // after the desk's own, which take 300
        })"""
    )
    assert page.locator("#evidence q").count() == 0


def test_labelling_goes_on_offline_and_is_saved_on_return(
    desk_app: RunningApp, visit: Visit
) -> None:
    """A laptop's lid is closed and opened: nothing is lost, nothing is saved twice."""
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    page.context.set_offline(True)
    claims = []
    for _ in range(6):
        claims.append(read_claim(page))
        unlink(page)
    expect(page.locator("#offline")).to_contain_text("6 labels wait on this computer")
    assert page.evaluate("dispatchEvent(new Event('beforeunload', {cancelable: true}))") is False
    press(page, "u")  # offline too
    wait_status(page, "Undone")
    assert read_claim(page) == claims[-1]
    unlink(page)
    assert read_labels(desk_app, round_id, "ana") == {}
    page.context.set_offline(False)
    expect(page.locator("#finished h2")).to_have_text("You're done: 6 of 6")
    page.wait_for_function("Object.keys(localStorage).length === 0")  # nothing waits to be sent
    assert [*read_labels(desk_app, round_id, "ana")][::-1] == claims
    with desk_app.open() as store:
        assert store.query("select count(*) from labels") == [(6,)]


def test_a_label_whose_answer_was_lost_is_saved_once(desk_app: RunningApp, visit: Visit) -> None:
    """As when the server is killed after it saved, and before it said so."""
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    claim = read_claim(page)
    lost: list[int] = []

    def lose(route: Route) -> None:
        lost.append(route.fetch().status)
        route.abort()

    page.route("**/api/tasks/*/label", lose, times=1)
    press(page, "1", "q")
    expect(page.locator("#offline")).to_contain_text("1 label waits on this computer")
    assert (lost, read_claim(page) != claim) == ([200], True)
    page.reload()  # and the tab is closed before it could send it again
    wait_ready(page)
    wait_saved(page)
    assert [*read_labels(desk_app, round_id, "ana")] == [claim]
    with desk_app.open() as store:
        assert store.query("select count(*) from labels") == [(1,)]
        assert store.query("select suggestion from annotation_saves") == [(1,)]


def test_a_second_tab_is_told_and_overwrites_nothing_unseen(
    desk_app: RunningApp, visit: Visit
) -> None:
    round_id = start_round(desk_app, "tower")
    page, device = visit("ana", "/label"), visit("ana", "/label")
    assert not page.locator("#other-tab").is_visible()
    tab = page.context.new_page()
    tab.goto(page.url)
    wait_ready(tab)
    claim = read_claim(tab)
    for one in (page, tab):
        expect(one.locator("#other-tab")).to_be_visible()
        assert read_claim(one) == claim
    unlink(tab)
    wait_saved(tab)
    wait_status(page, "You labelled this claim in another tab: unlinked.")
    expect(page.locator("#progress-text")).to_contain_text("You: 1 of 6")
    tab.close()
    expect(page.locator("#other-tab")).to_be_hidden()
    # Another device hears of it when it saves; its choice stays, and is saved when given again.
    assert read_claim(device) == claim
    press(device, "4", "q")
    wait_status(device, "Not saved: You labelled this claim “unlinked” at")
    assert read_claim(device) == claim
    assert read_labels(desk_app, round_id, "ana")[claim].verdict == "unlinked"
    press(device, "4")
    wait_saved(device)
    assert read_labels(desk_app, round_id, "ana")[claim].verdict == "contradicted"


RENDERED = (
    "# The *tower*\n\nIt is **139 m** tall, `see` [the guide](https://x.example).\n"
    "- one\n  goes on\n- two\n\n1. first\n\n> said\n\n---\n"
    "| floor | use |\n|---|:--:|\n| 1 | café \\| bar |\n| 2 | rooms |\n\n"
    "```py\nprint('x')\n```\nEnd.\n"
)
TEXTS = [
    RENDERED, TOWER, UNICODE, HOSTILE, "", "\n\n", "|", "a | b\n--|--\n| c", "```\nopen",
    "5 * 3 * 2", "**" * 2000, "[" * 3000, '{"a": [1, {"b": "x, y"}, []], "c": null}', " [1]\n",
    "{not json}", "- a\r\n- b\r\n\r\nc",
]  # fmt: skip


def test_rendered_sources_keep_every_character_in_place(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    with desk_app.open() as store:
        change = "update sources set source_text = :text where source_id = 'tower'"
        store.execute_all([(change, {"text": RENDERED})])
    page = visit("ana", "/label")
    kept = page.evaluate(
        "texts => import('/static/render.js').then(({ render }) => "
        "texts.map(text => render(text).textContent))",
        TEXTS,
    )
    assert kept == TEXTS
    source = page.locator("#source-text")
    assert source.locator("td:visible").all_inner_texts() == ["1", "café \\| bar", "2", "rooms"]
    assert not re.search(r"\*\*|# |\]\(|```|\|---", source.inner_text()), "signs are hidden"
    assert source.locator("pre").inner_text().strip() == "print('x')"
    claim = read_claim(page)
    press(page, "4")
    page.locator("td", has_text="rooms").click()
    wait_saved(page)
    label = read_labels(desk_app, round_id, "ana")[claim]
    assert label.supporting_span == "2 | rooms"
    assert label.span_start == RENDERED.index("2 | rooms")


def test_refused_save_shows_the_servers_line(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    wait_settled(page)
    claim = read_claim(page)

    def spoil(route: Route) -> None:
        sent = json.loads(route.request.post_data or "{}")
        route.continue_(post_data=json.dumps({**sent, "span_text": "Something else"}))

    page.route("**/api/tasks/*/label", spoil)
    pick(page, "dogs")
    press(page, "1")
    wait_status(page, "Not saved")
    assert "letter by letter" in page.locator("#status").inner_text()
    assert read_claim(page) == claim


def test_who_logs_in_again_in_another_tab_loses_nothing(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", f"/label/{round_id}")
    wait_settled(page)
    claim = read_claim(page)
    pick(page, "dogs", "Shift+ArrowRight")
    press(page, "r")
    page.keyboard.type("a reason of my own")
    press(page, "Escape")
    with desk_app.open() as store:  # the session is over; the page does not know yet
        store.execute_all([("update sessions set expires_at = '2020-01-01 00:00:00'", {})])
    press(page, "4")
    notice = page.get_by_role("alert")
    expect(notice).to_contain_text("Nothing is lost")
    assert read_labels(desk_app, round_id, "ana") == {}
    assert page.evaluate("dispatchEvent(new Event('beforeunload', {cancelable: true}))") is False
    with page.context.expect_page() as opened:
        notice.get_by_role("link", name="Log in again in another tab").click()
    tab = opened.value
    tab.get_by_label("Name").fill("ana")
    tab.get_by_label("Password").fill(PASSWORD)
    tab.get_by_role("button", name="Log in").click()
    tab.wait_for_url("**/account")
    tab.close()
    page.bring_to_front()
    wait_saved(page)
    expect(notice).to_have_count(0)
    label = read_labels(desk_app, round_id, "ana")[claim]
    assert (label.verdict, label.supporting_span) == ("contradicted", "Dogs may")
    assert label.reason == "a reason of my own"
    unlink(page)
    wait_saved(page)
    assert len(read_labels(desk_app, round_id, "ana")) == 2
    page.locator(".who button").click()
    page.wait_for_url("**/login")  # the form to log out has the new token too


def test_nothing_is_saved_under_another_name(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", f"/label/{round_id}")
    claim = read_claim(page)
    page.context.clear_cookies()
    unlink(page)
    expect(page.locator("#logged-out")).to_be_visible()
    log_in(page.context, desk_app, "ben")
    wait_status(page, "Not saved: ben is logged in here now")
    expect(page.locator("#logged-out")).to_have_count(0)
    assert read_claim(page) == claim
    unlink(page)
    wait_status(page, "Not saved: ben is logged in here now")
    with desk_app.open() as store:
        assert store.query("select count(*) from labels") == [(0,)]
    log_in(page.context, desk_app, "ana")
    unlink(page)
    wait_saved(page)
    assert [*read_labels(desk_app, round_id, "ana")] == [claim]
    assert read_labels(desk_app, round_id, "ben") == {}


def test_requests_at_once_all_go_on_after_a_new_login(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", f"/label/{round_id}")
    wait_settled(page)
    log_in(page.context, desk_app, "ana")  # a new session: the form token of the page is old
    replies = page.evaluate(
        """id => import('/static/api.js').then(({ get }) => {
          const ask = () => get(`/api/rounds/${id}/batch`).then(() => "here", (e) => e.message);
          return Promise.all([ask(), ask(), ask()]);
        })""",
        round_id,
    )
    assert replies == ["here"] * 3


def test_page_of_one_person_gets_no_claims_of_another(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "stale")
    page = visit("ana", f"/label/{round_id}")
    wait_settled(page)
    log_in(page.context, desk_app, "ben")
    press(page, "k", "1", "Enter")
    wait_status(page, "Not skipped: ben is logged in here now")
    asked = page.evaluate(
        "id => import('/static/api.js').then(({ get }) => get(`/api/rounds/${id}/batch`))"
        ".catch((error) => error.message)",
        round_id,
    )
    assert asked.startswith("ben is logged in here now")
    with desk_app.open() as store:
        people = "select distinct labeler from annotation_slots where labeler is not null"
        assert store.query(people) == [("ana",)]


def test_claim_that_went_to_someone_else_can_be_left(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower", overlap=0.0)
    page = visit("ana", "/label")
    wait_settled(page)
    claim = read_claim(page)
    with desk_app.open() as store:
        store.execute_all([("update annotation_slots set labeler = 'ben' "
                            "where labeler = 'ana' and leased_until = (select min(leased_until) "
                            "from annotation_slots where labeler = 'ana')", {})])  # fmt: skip
    unlink(page)
    wait_status(page, "Not saved: This claim is not yours")
    assert read_claim(page) == claim
    page.locator("#go-on").click()
    expect(page.locator("#claim-text")).not_to_have_text(claim)
    unlink(page)
    wait_saved(page)
    assert claim not in read_labels(desk_app, round_id, "ana")


def test_covered_part_by_mouse(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "stale")
    page = visit("ana", "/label")
    press(page, "s", "Enter", "3")
    left, right, y = place_of(page, "4 eu", "claim-text")
    page.mouse.move(left + 1, y)
    page.mouse.down()
    page.mouse.move(right, y, steps=3)
    page.mouse.up()
    page.wait_for_selector("#finished:not([hidden])")
    label = read_labels(desk_app, round_id, "ana")["Entry costs 4 euros."]
    assert (label.verdict, label.covered_text) == ("overreach", "4 euros")


def test_whole_claim_is_no_part_of_it(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "stale")
    page = visit("ana", "/label")
    press(page, "s", "Enter", "3", "Control+Shift+ArrowRight", "Enter")
    wait_status(page, "That is the whole claim")
    press(page, "Escape", "Escape")
    assert page.locator("#desk").get_attribute("data-step") == "verdict"


def test_draft_outlives_a_closed_tab(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    claim = read_claim(page)
    pick(page, "dogs", "Shift+ArrowRight")
    press(page, "r")
    page.keyboard.type("half a sentence")
    page.reload()
    wait_ready(page)
    assert read_claim(page) == claim
    assert page.locator("#evidence q").inner_text() == "Dogs may"
    assert page.locator("#reason").input_value() == "half a sentence"
    # Another person on the same computer must not see it.
    page.goto(f"{desk_app.url}/label")
    keys = page.evaluate("Object.keys(localStorage)")
    assert [key for key in keys if key.startswith("claimwise.draft.")] != []
    assert all(key.startswith("claimwise.draft.ana.") for key in keys)


def test_leaving_warns_only_while_something_is_unsaved(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    asked = "dispatchEvent(new Event('beforeunload', {cancelable: true}))"
    assert page.evaluate(asked) is True
    page.route("**/api/tasks/*/label", lambda route: None)  # never answered
    unlink(page)
    assert page.evaluate(asked) is False


def test_undo_takes_back_and_offers_the_choice_again(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    first = read_claim(page)
    pick(page, "dogs", "Shift+ArrowRight")
    press(page, "1")
    wait_saved(page)
    second = read_claim(page)
    press(page, "u")
    wait_status(page, "Undone")
    assert read_claim(page) == first
    assert page.locator("#evidence q").inner_text() == "Dogs may"
    assert read_labels(desk_app, round_id, "ana") == {}
    unlink(page)
    wait_saved(page)
    assert read_claim(page) == second
    assert read_labels(desk_app, round_id, "ana")[first].verdict == "unlinked"
    with desk_app.open() as store:
        assert store.query("select count(*) from labels where labeler = 'ana'") == [(2,)]
        assert store.query("select count(*) from label_retractions") == [(1,)]


def test_undo_works_after_a_reload(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    first = read_claim(page)
    unlink(page)
    wait_saved(page)
    page.reload()
    wait_ready(page)
    press(page, "u")
    wait_status(page, "Undone")
    assert read_claim(page) == first


def skip_claim(page: Page) -> None:
    press(page, "k", "1", "Enter")
    wait_status(page, "Skipped")


def test_undo_takes_back_labels_and_skips_in_order(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    wait_settled(page)
    claims = [read_claim(page)]
    unlink(page)
    wait_saved(page)
    claims.append(read_claim(page))
    pick(page, "dogs", "Shift+ArrowRight")
    skip_claim(page)
    expect(page.locator("#claim-text")).not_to_have_text(claims[1])
    claims.append(read_claim(page))
    press(page, "u")
    wait_status(page, "Undone: the claim is yours again")
    assert read_claim(page) == claims[1]
    assert page.locator("#evidence q").inner_text() == "Dogs may", "what was chosen is there again"
    with desk_app.open() as store:
        assert store.query("select count(*) from annotation_skips") == [(0,)]
    page.locator("#undo").click()
    expect(page.locator("#claim-text")).to_have_text(claims[0])
    wait_status(page, "Undone")
    for claim in claims:
        assert read_claim(page) == claim
        unlink(page)
        wait_saved(page)
        wait_settled(page)
    assert [*read_labels(desk_app, round_id, "ana")] == claims[::-1]


def test_undo_pressed_twice_at_once_takes_back_two(desk_app: RunningApp, visit: Visit) -> None:
    """The second one waits for the first; it neither asks for the same again nor drops another."""
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    wait_settled(page)
    first = read_claim(page)
    unlink(page)
    wait_saved(page)
    wait_settled(page)
    second = read_claim(page)
    skip_claim(page)
    expect(page.locator("#claim-text")).not_to_have_text(second)
    page.evaluate("for (const _ of [1, 2]) document.getElementById('undo').click()")
    expect(page.locator("#claim-text")).to_have_text(first)
    wait_status(page, "Undone")
    assert read_labels(desk_app, round_id, "ana") == {}
    with desk_app.open() as store:
        assert store.query("select count(*) from annotation_skips") == [(0,)]
    wait_settled(page)
    assert page.locator("#status").inner_text() == "Undone. Choose a verdict."
    unlink(page)
    wait_saved(page)
    assert read_claim(page) == second


def test_undo_waits_for_a_skip_that_is_under_way(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    wait_settled(page)
    first = read_claim(page)
    unlink(page)
    wait_saved(page)
    wait_settled(page)
    second = read_claim(page)
    press(page, "k", "1")
    page.evaluate(
        "document.querySelector('#skip-dialog form').requestSubmit();"
        "document.getElementById('undo').click()"
    )
    wait_status(page, "Undone: the claim is yours again")
    assert read_claim(page) == second != first
    with desk_app.open() as store:
        assert store.query("select count(*) from annotation_skips") == [(0,)]
        assert store.query("select count(*) from label_retractions") == [(0,)]


def test_skipped_claim_does_not_return_behind_one_that_was_not_saved(
    desk_app: RunningApp, visit: Visit
) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    wait_settled(page)
    first = read_claim(page)
    labels: list[Route] = []
    page.route("**/label", lambda route: labels.append(route))
    with page.expect_request("**/label"):
        unlink(page)
    expect(page.locator("#claim-text")).not_to_have_text(first)
    second = read_claim(page)
    press(page, "k", "1", "Enter")
    with page.expect_response("**/skip"):  # sent after the label, answered after its refusal
        labels[0].fulfill(status=409, json={"error": "No."})
    wait_settled(page)
    wait_status(page, "Not saved")  # the skip that came after does not hide it
    assert read_claim(page) == first
    page.unroute("**/label")
    unlink(page)
    wait_saved(page)
    expect(page.locator("#desk")).not_to_have_class(re.compile("waiting"))
    assert read_claim(page) not in (first, second)


def test_skip_that_went_to_someone_else_does_not_stop_undo(
    desk_app: RunningApp, visit: Visit
) -> None:
    round_id = start_round(desk_app, "tower", overlap=0.0)
    page = visit("ana", "/label")
    wait_settled(page)
    first = read_claim(page)
    unlink(page)
    wait_saved(page)
    wait_settled(page)
    second = read_claim(page)
    skip_claim(page)
    with desk_app.open() as store:
        taken = (
            "update annotation_slots set state = 'leased', labeler = 'ben', "
            "leased_until = '2999-01-01 00:00:00' where state = 'open'"
        )
        store.execute_all([(taken, {})])
    press(page, "u")
    wait_status(page, "Someone else has this claim now")
    press(page, "u")
    wait_status(page, "Undone")
    assert read_claim(page) == first != second
    assert read_labels(desk_app, round_id, "ana") == {}


def test_last_claim_can_be_skipped_and_taken_back_after_a_reload(
    desk_app: RunningApp, visit: Visit
) -> None:
    start_round(desk_app, "stale")
    page = visit("ana", "/label")
    claim = read_claim(page)
    skip_claim(page)
    page.wait_for_selector("#finished:not([hidden])")
    page.reload()
    page.wait_for_selector("#finished:not([hidden])")
    press(page, "u")
    wait_status(page, "Undone: the claim is yours again")
    assert read_claim(page) == claim
    assert not page.locator("#finished").is_visible()
    unlink(page)
    page.wait_for_selector("#finished:not([hidden])")


def test_skip_asks_for_a_reason(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    wait_settled(page)
    first = read_claim(page)
    press(page, "k", "Enter")
    assert page.locator("#skip-why").inner_text() == "Choose a reason, or write one."
    press(page, "5")
    page.locator("#skip-own").press_sequentially("my uncle built it")
    press(page, "Enter")
    wait_status(page, "Skipped")
    assert read_claim(page) != first
    with desk_app.open() as store:
        assert store.query("select labeler, reason from annotation_skips") == [
            ("ana", "I know the people or the case: my uncle built it")
        ]
        assert read_progress(store, round_id, utc_now()).done == 0


def test_rules_are_one_key_away_and_focus_returns(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label")
    page.locator("[data-verdict=overreach]").focus()
    press(page, "?")
    dialog = page.locator("#rules-dialog")
    assert dialog.is_visible()
    assert "R6 Overreach" in dialog.inner_text()
    press(page, "1")  # keys are not for the desk while a dialog is open
    assert "needs a span" not in page.locator("#status").inner_text()
    press(page, "Escape")
    assert not dialog.is_visible()
    assert page.evaluate("document.activeElement.dataset.verdict") == "overreach"


def test_single_letter_keys_can_be_turned_off(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    press(page, "?")
    page.locator("#keys-on").uncheck()
    press(page, "Escape", "2", "k")
    assert not page.locator("#skip-dialog").is_visible()
    assert read_labels(desk_app, round_id, "ana") == {}


def test_stale_only_for_sources_that_no_longer_held(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "stale")
    page = visit("ana", "/label")
    assert "fares-2025 has replaced it" in page.locator(".source-stale").inner_text()
    press(page, "]")
    press(page, "s", "Control+Shift+ArrowRight", "Enter", "5")
    assert "“Fares 2025” was valid" in page.locator("#status").inner_text()
    press(page, "Escape", "[", "s", "Control+Shift+ArrowRight", "Enter", "1")
    assert "choose stale" in page.locator("#status").inner_text()
    press(page, "5")
    page.wait_for_selector("#finished:not([hidden])")
    label = read_labels(desk_app, round_id, "ana")["Entry costs 4 euros."]
    assert (label.verdict, label.source_id) == ("stale", "fares-2024")


def test_action_claims_rest_on_the_log(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "action")
    page = visit("ana", "/label")
    assert not page.locator("#source-box").is_visible()
    press(page, "5")
    assert "a log entry does not expire" in page.locator("#status").inner_text()
    press(page, "1")
    assert page.locator("#step-text").inner_text() == "Which log entry shows it?"
    press(page, "q")  # the closest one: it cancels, as the claim says
    page.wait_for_selector("#finished:not([hidden])")
    label = read_labels(desk_app, round_id, "ana")["I have cancelled your booking."]
    assert (label.verdict, label.supporting_span) == ("supported", "booking.cancel id=77 status=ok")
    assert label.source_id is None


def test_closed_book_has_four_keys_and_no_sources(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower", judgement="closed_book")
    page = visit("ana", "/label")
    assert page.locator("#source-box").count() == 0
    data = json.loads(page.locator("#desk-data").inner_text())
    assert data["batch"]["sources"] == {}
    first = read_claim(page)
    press(page, "r")
    page.keyboard.type("I measured it")
    press(page, "Enter", "3")
    wait_saved(page)
    label = read_labels(desk_app, round_id, "ana")[first]
    assert (label.verdict, label.reason) == ("unverifiable", "I measured it")


def test_payload_holds_no_verdict_of_others(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ben", "/label")
    for _ in range(6):
        wait_settled(page)
        unlink(page)
    page.wait_for_selector("#finished:not([hidden])")
    other = visit("ana", f"/label/{round_id}")
    page_text = other.locator("#desk-data").inner_text()
    answer = other.request.get(f"{desk_app.url}/api/rounds/{round_id}/batch").text()
    for text, batch in ((page_text, json.loads(page_text)["batch"]), (answer, json.loads(answer))):
        assert set(batch) == {"claims", "sources", "held", "progress"}
        assert batch["progress"] == {"done": 0, "left": 6, "seconds": None}
        assert len(batch["claims"]) == 3, "half of what is free is left to others"
        for shown in batch["claims"]:
            assert set(shown) == {"task", "answer", "stale"}
            assert shown["task"]["mine"] is None
        for word in ("verdict", "label_kind", "supporting_span", "labeler", "confidence", "ben"):
            assert f'"{word}"' not in text


def test_hostile_texts_stay_text(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "hostile")
    page = visit("ana", "/label")
    assert page.evaluate("window.hacked") is None
    assert page.evaluate("document.getElementById('source-text').textContent") == HOSTILE
    assert page.evaluate("document.getElementById('answer').textContent") == HOSTILE_ANSWER
    assert read_claim(page) == "The door code is <b>1234</b>."
    assert page.locator("#desk b, #desk img, #desk a[href^=javascript]").count() == 0
    pick(page, "<b>1234</b>")
    press(page, "1")
    page.wait_for_selector("#finished:not([hidden])")
    label = read_labels(desk_app, round_id, "ana")["The door code is <b>1234</b>."]
    assert label.supporting_span == "<b>1234</b>."
    page.goto(f"{desk_app.url}/label?all=1")
    assert page.locator("table.did").inner_text().count("<b>1234</b>") == 1
    assert page.evaluate("window.hacked") is None


SPANS = (
    ("139 m", (), "139 m"),
    ("Turm", ("Control+Shift+ArrowRight",), "Turm ist 139 m hoch."),
    ("geöffnet", ("Shift+ArrowLeft",), "👩‍👩‍👧 geöffnet."),
    ("Cafe\u0301", ("Shift+ArrowLeft",), "hoch.\r\nCafe\u0301"),
    ("פתוח", ("Shift+ArrowRight",), "פתוח כל"),
    ("全年", ("Shift+ArrowRight",), "全年开放。"),
    ("🎉 of it", ("Backspace",), "🎉 of it"),
    ("End", ("Shift+ArrowRight",), "End 🎉"),
)


def test_offsets_count_characters(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "unicode")
    page = visit("ana", "/label")
    assert page.locator("#answer mark").inner_text() == "Die 🗼 ist 139 m hoch."
    for words, keys, span in SPANS:
        page.keyboard.press("/")
        page.keyboard.insert_text(words)
        press(page, "Enter", "Escape", "s", *keys, "Enter")
        (draft,) = page.evaluate("Object.values(localStorage).map(JSON.parse)")
        assert (draft["span_text"], draft["span_start"]) == (span, UNICODE.index(span))
        page.locator("#evidence-clear").click()
    pick(page, "End", "Shift+ArrowRight")
    press(page, "4")
    page.wait_for_selector("#finished:not([hidden])")
    label = read_labels(desk_app, round_id, "ana")["Die 🗼 ist 139 m hoch."]
    assert (label.supporting_span, label.span_start) == ("End 🎉", UNICODE.index("End 🎉"))


def test_searching_a_megabyte_stays_quick(desk_app: RunningApp, visit: Visit) -> None:
    start_round(desk_app, "tower")
    long = "".join(f"Line {n} of the long record says little. " for n in range(27_000)) + "The end."
    assert len(long) > 1_000_000
    with desk_app.open() as store:
        store.execute_all(
            [("update sources set source_text = :text where source_id = 'garden'", {"text": long})]
        )
    page = visit("ana", "/label")
    press(page, "]")
    before = read_script_seconds(page)
    page.evaluate(
        """() => {
          const field = document.getElementById('search');
          field.value = 'the END.';
          field.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', cancelable: true}));
        }"""
    )
    assert page.locator("#search-count").inner_text() == "1 of 1"
    assert read_script_seconds(page) - before < 1
    press(page, "s", "Shift+ArrowRight", "Enter")
    assert page.locator("#evidence q").inner_text() == "The end."


def read_script_seconds(page: Page) -> float:
    """Return the processor's time that scripts of a page have taken: others' is not counted."""
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    found = session.send("Performance.getMetrics")["metrics"]
    return float(next(one["value"] for one in found if one["name"] == "ScriptDuration"))


def test_phone_keeps_claim_in_sight_and_verdicts_at_hand(
    desk_app: RunningApp, visit: Visit
) -> None:
    start_round(desk_app, "tower")
    page = visit("ana", "/label", width=390)
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    tops = page.evaluate(
        "['claim-text', 'source-box', 'question'].map(id => document.getElementById(id)"
        ".getBoundingClientRect().top)"
    )
    assert tops == sorted(tops), "the claim, its sources, then question and answer"
    for button in page.locator("button:visible:not(.citation), a.button:visible").all():
        box = button.bounding_box()
        assert box is not None
        assert box["height"] >= 44, button.inner_text()
    verdicts = page.locator(".verdicts").bounding_box()
    press(page, "1")
    page.evaluate("scrollTo(0, document.body.scrollHeight)")
    assert page.locator(".verdicts").bounding_box() == verdicts
    assert page.locator("#claim-text").evaluate("one => one.getBoundingClientRect().top >= 0")


def test_what_i_did_reopens_a_label(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    first = read_claim(page)
    unlink(page)
    wait_saved(page)
    page.goto(f"{desk_app.url}/label?all=1")
    page.locator("table.did a").click()
    wait_ready(page)
    assert read_claim(page) == first
    assert "You labelled this claim: unlinked" in page.locator("#status").inner_text()
    pick(page, "dogs")
    press(page, "4")
    wait_saved(page)
    assert read_labels(desk_app, round_id, "ana")[first].verdict == "contradicted"
    assert read_claim(page) != first


def test_closed_round_is_read_and_not_changed(desk_app: RunningApp, visit: Visit) -> None:
    round_id = start_round(desk_app, "tower")
    page = visit("ana", "/label")
    first = read_claim(page)
    pick(page, "dogs", "Shift+ArrowRight")
    press(page, "4")
    wait_saved(page)
    with desk_app.open() as store:
        before = store.query("select count(*) from labels")
        close_round(store, round_id, utc_now())
    page.goto(f"{desk_app.url}/label?all=1")
    expect(page.locator("main")).to_contain_text("you can read it, not change it")
    page.locator("table.did a").click()
    wait_ready(page)
    assert read_claim(page) == first
    expect(page.locator("#fixed")).to_contain_text("it can't be changed")
    assert page.locator("#evidence q").inner_text() == "Dogs may"
    assert page.locator("[data-verdict=contradicted]").get_attribute("aria-pressed") == "true"
    for name in ("supported", "unlinked"):
        assert page.locator(f"[data-verdict={name}]").get_attribute("aria-disabled") == "true"
    for name in ("#skip", "#undo"):
        assert not page.locator(name).is_visible()
    unlink(page)
    wait_status(page, "The round is closed")
    press(page, "k")
    assert not page.locator("#skip-dialog").is_visible()
    page.locator("#reason").press_sequentially("too late")
    assert page.locator("#reason").input_value() == ""
    pick(page, "tower", "Shift+ArrowRight")
    assert page.evaluate("Object.keys(localStorage)") == [], "no draft that would come back"
    with desk_app.open() as store:
        assert store.query("select count(*) from labels") == before
    page.locator("#fixed a").click()
    expect(page.locator("h2").first).to_have_text("What I did")
