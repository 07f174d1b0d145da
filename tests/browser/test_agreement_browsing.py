"""The page on agreement in a real Chromium: accessible, and narrow enough for a phone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from browser.desk import log_in
from browser.tabs import LendTab
from claimwise.accounts.queries import create_account
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import add_guide
from claimwise.store import open_store
from support.app_server import PASSWORD, RunningApp, run_app, utc_now
from support.axe import find_flaws
from support.copies import StoreCopies, add_demo
from support.tour import wait_figures


@pytest.fixture(scope="module")
def running(
    store_copies: StoreCopies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningApp]:
    """The app over the demo data, as if it had been labelled by the built-in guide."""
    place = store_copies.copy("sqlite", add_demo)
    guide = read_guide("grounded")
    with open_store(place) as store:
        add_guide(store, guide.version, guide.text, utc_now())
        used = "update labels set guide_version = :version where label_kind = 'human'"
        store.execute_all([(used, {"version": guide.version})])
        create_account(store, "ada", "adjudicator", PASSWORD, utc_now())
    with run_app(place, tmp_path_factory.mktemp("agreement")) as app:
        yield app


def test_accessible_and_narrow_enough(lend_tab: LendTab, running: RunningApp) -> None:
    page = lend_tab().page
    log_in(page.context, running, "ada")
    page.goto(f"{running.url}/agreement/baseline")
    wait_figures(page)
    for closed in page.locator("details:not([open]) > summary").all()[::-1]:
        closed.click()
    assert find_flaws(page) == []


def test_a_disagreement_leads_to_its_rule(lend_tab: LendTab, running: RunningApp) -> None:
    page = lend_tab().page
    page.goto(f"{running.url}/login")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".who")).to_contain_text("ada")
    page.goto(f"{running.url}/agreement/baseline")
    wait_figures(page)
    expect(page.get_by_label("What to do")).to_contain_text("Start with supported or stale")
    first = page.locator("details.pair").first
    expect(first).to_contain_text("4 claims")
    link = first.locator(".pair-rule a").first
    rule = link.inner_text()
    link.click()
    expect(page.locator(f"#{rule}")).to_be_in_viewport()
