"""From a week of live traffic to its claims, and from an alarm to a gate, in a real Chromium."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from browser.desk import log_in
from browser.tabs import LendTab
from claimwise.accounts.queries import create_account
from claimwise.monitoring.settings import MonitorSettings
from claimwise.monitoring.watch import watch_all
from claimwise.store import Store
from support.app_server import PASSWORD, RunningApp, run_app, utc_now
from support.axe import find_flaws
from support.copies import StoreCopies
from support.monitored_traffic import DAY, FIRST, TrafficWriter

HOSTILE = "<script>alert(1)</script>"


def add_alarm(store: Store) -> None:
    """Six weeks and a regression, read by the monitor; the new version has a hostile name."""
    writer = TrafficWriter(store)
    writer.add_days(0, 35)
    writer.add_days(35, 49, wrong=9, model=HOSTILE)
    watch_all(store, MonitorSettings(wait_days=0), FIRST + 49 * DAY)
    create_account(store, "maria", "admin", PASSWORD, utc_now())


@pytest.fixture
def running(store_copies: StoreCopies, tmp_path: Path) -> Iterator[RunningApp]:
    with run_app(store_copies.copy("sqlite", add_alarm), tmp_path) as app:
        yield app


@pytest.fixture
def page(lend_tab: LendTab, running: RunningApp) -> Iterator[Page]:
    tab = lend_tab(width=1440)
    log_in(tab.page.context, running, "maria")
    yield tab.page
    assert tab.console + tab.errors == []


def photograph(page: Page, name: str) -> None:
    """Take pictures where a person wants to look at them: CLAIMWISE_PICTURES names the folder."""
    folder = os.environ.get("CLAIMWISE_PICTURES")
    for width, scheme in ((1440, "light"), (390, "light"), (1440, "dark")) if folder else ():
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.set_viewport_size({"width": width, "height": 900})
        page.screenshot(path=f"{folder}/{name}-{width}-{scheme}.png", full_page=True)


def test_a_week_leads_to_its_claims_and_an_alarm_to_incidents_and_a_gate(
    page: Page, running: RunningApp
) -> None:
    page.goto(f"{running.url}/monitor")
    photograph(page, "monitor")
    assert find_flaws(page) == []
    assert page.locator("svg.weeks a circle").count() == 7
    page.locator("svg.weeks a[aria-label^='2026-W42']").click()
    expect(page.locator("#week")).to_contain_text("Claims of 2026-W42")
    page.locator(".worst-claims .verdict").first.click()
    expect(page.locator(".answer-claims .chosen")).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Supported claims of bot fell").first.click()
    expect(page.locator(".alert")).to_contain_text(f"New since then: version {HOSTILE}")
    photograph(page, "alarm")
    assert find_flaws(page) == []
    page.get_by_label("Worst answers to turn into incidents").fill("2")
    page.get_by_label("Yes: a refusal would be wrong").check()
    page.get_by_role("button", name="Open incidents").click()
    expect(page.get_by_role("status")).to_contain_text("2 new incidents")
    expect(page.locator("#main")).to_contain_text("Would have marked down 2 of 2 incidents")
    page.get_by_label("What you found and did").fill("rolled back")
    page.get_by_role("button", name="Close alarm").click()
    expect(page.locator(".alarm-list .closed")).to_contain_text("by maria: rolled back")
    photograph(page, "alarms")
    assert find_flaws(page) == []
    figures = page.request.get(f"{running.url}/monitor/metrics").text()
    assert 'claimwise_answers{system="bot"' in figures
