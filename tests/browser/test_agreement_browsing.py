"""The page on agreement in a real Chromium: accessible, and narrow enough for a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from claimwise.accounts.queries import create_account
from claimwise.demo import list_demo_files
from claimwise.labelling.guide import read_guide
from claimwise.labelling.rounds import add_guide
from claimwise.store import open_store
from claimwise.transfer import import_files
from support.app_server import PASSWORD, RunningApp, run_app, utc_now
from support.axe import find_violations
from support.tour import wait_figures


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningApp]:
    """The app over the demo data, as if it had been labelled by the built-in guide."""
    folder = tmp_path_factory.mktemp("agreement")
    place = str(folder / "store.db")
    guide = read_guide("grounded")
    with open_store(place, create=True) as store:
        import_files(store, list_demo_files())
        add_guide(store, guide.version, guide.text, utc_now())
        used = "update labels set guide_version = :version where label_kind = 'human'"
        store.execute_all([(used, {"version": guide.version})])
        create_account(store, "ada", "adjudicator", PASSWORD, utc_now())
    with run_app(place, Path(folder)) as app:
        yield app


def open_agreement(browser: Browser, app: RunningApp, width: int, scheme: str) -> Page:
    page = browser.new_context(
        base_url=app.url,
        bypass_csp=True,
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    ).new_page()
    page.goto("/login")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in").click()
    expect(page.locator(".who")).to_contain_text("ada")
    page.goto("/agreement/baseline")
    wait_figures(page)
    return page


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible_and_narrow_enough(
    browser: Browser, running: RunningApp, width: int, scheme: str
) -> None:
    page = open_agreement(browser, running, width, scheme)
    for closed in page.locator("details:not([open]) > summary").all()[::-1]:
        closed.click()
    assert find_violations(page) == []
    assert page.evaluate("document.documentElement.scrollWidth - window.innerWidth") <= 0
    page.context.close()


def test_a_disagreement_leads_to_its_rule(browser: Browser, running: RunningApp) -> None:
    page = open_agreement(browser, running, 1280, "light")
    expect(page.get_by_label("What to do")).to_contain_text("Start with supported or stale")
    first = page.locator("details.pair").first
    expect(first).to_contain_text("4 claims")
    link = first.locator(".pair-rule a").first
    rule = link.inner_text()
    link.click()
    expect(page.locator(f"#{rule}")).to_be_in_viewport()
    page.context.close()
