"""From the start page to the worst claims, and to a test case, in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.desk import log_in
from browser.tabs import LendTab
from claimwise.accounts.queries import create_account
from claimwise.store import open_store
from support.app_server import PASSWORD, RunningApp, run_app, utc_now
from support.axe import find_flaws
from support.copies import StoreCopies, add_demo

MOST_REQUESTS = 10


@pytest.fixture
def running(store_copies: StoreCopies, tmp_path: Path) -> Iterator[RunningApp]:
    place = store_copies.copy("sqlite", add_demo)
    with open_store(place) as store:
        create_account(store, "maria", "admin", PASSWORD, utc_now())
    with run_app(place, tmp_path) as app:
        yield app


@pytest.fixture
def page(lend_tab: LendTab, running: RunningApp) -> Iterator[Page]:
    tab = lend_tab(width=1280)
    log_in(tab.page.context, running, "maria")
    yield tab.page
    assert tab.console + tab.errors == []


def test_start_page_leads_to_the_worst_claims_and_on_to_a_test_case(
    page: Page, running: RunningApp
) -> None:
    page.goto(running.url)
    expect(page.locator(".worst-claims li")).to_have_count(5)
    expect(page.locator(".worst-claims .verdict").first).to_have_text("✗ contradicted")
    page.get_by_role("link", name="See all 23 unsupported claims").click()
    first = page.locator(".claim").first
    expect(first.locator(".verdict")).to_have_text("✗ contradicted")
    page.get_by_label("Search claims and questions").fill("refund voucher")
    page.get_by_role("button", name="Apply filters").click()
    expect(page.locator(".claim")).to_have_count(1)
    page.get_by_role("link", name="“refund voucher”").click()
    expect(page.locator(".claim")).to_have_count(23)
    page.locator(".claim-line a").first.click()
    chosen = page.locator(".answer-claims .chosen")
    expect(chosen).to_be_in_viewport()
    expect(chosen.locator("details")).to_have_attribute("open", "")
    mark = page.locator(".marked mark.v-contradicted").first
    assert mark.evaluate("mark => getComputedStyle(mark).borderBottomStyle") == "double"
    page.get_by_role("button", name="Make it a test case").click()
    expect(page.get_by_role("status")).to_contain_text("This answer is a test case now")
    page.get_by_role("link", name="Back to the claims").click()
    expect(page.locator(".claim")).to_have_count(23)


@pytest.mark.parametrize(
    "path",
    [
        "/claims?run=&q=ticket&judge=ana",
        "/claims?run=candidate&q=zebra",
        "/answers?run=baseline&item=agg-02&claim=c1:fij7xji54vitxa3jwff5nqwa",
    ],
)
def test_pages_are_accessible_and_light(page: Page, running: RunningApp, path: str) -> None:
    kinds: list[str] = []
    page.on("request", lambda one: kinds.append(one.resource_type))
    page.goto(running.url + path)
    assert 0 < len(kinds) <= MOST_REQUESTS
    # Answers have a button that copies their link; nothing else here needs a script.
    assert kinds.count("script") == path.startswith("/answers")
    for one in page.locator("details").all():
        one.evaluate("one => { one.open = true }")
    assert find_flaws(page) == []
