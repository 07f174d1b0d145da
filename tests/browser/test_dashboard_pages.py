"""The overview, runs and SQL pages in a real Chromium: readable, accessible, narrow enough."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from browser.desk import log_in
from browser.tabs import LendTab, Tab
from claimwise.accounts.queries import create_account
from claimwise.app import agreement, dashboard, runs, summaries
from claimwise.app.figures import FigureStore
from claimwise.calibration.basis import find_basis
from claimwise.run_report.build import measure_run
from claimwise.store import open_store
from support.app_server import PASSWORD, RunningApp, run_app, utc_now
from support.axe import find_flaws
from support.copies import StoreCopies, add_demo
from support.tour import wait_figures
from support.waiting import DEADLINE

PAGES = (
    "/", "/runs", "/runs/candidate?tab=groups", "/runs/candidate?tab=metrics", "/compare", "/gates",
    "/incidents",
)  # fmt: skip
Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def running(
    store_copies: StoreCopies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningApp]:
    place = store_copies.copy("sqlite", add_demo)
    with open_store(place) as store:
        create_account(store, "maria", "admin", PASSWORD, utc_now())
    with run_app(place, tmp_path_factory.mktemp("dashboard")) as app:
        yield app


@pytest.fixture
def visit(lend_tab: LendTab, running: RunningApp) -> Iterator[Visit]:
    """Open a page of the app as the admin."""
    tabs: list[Tab] = []

    def open_path(path: str, *, width: int = 1280) -> Page:
        tabs.append(lend_tab(width=width))
        page = tabs[-1].page
        log_in(page.context, running, "maria")
        page.goto(running.url + path)
        if page.locator("[data-figures]").count():
            wait_figures(page)
        return page

    yield open_path
    said = [line for tab in tabs for line in tab.console]
    assert said == [], "a page complained, for example of an inline style"


@pytest.mark.parametrize("path", PAGES)
def test_pages_are_accessible_and_fit(visit: Visit, path: str) -> None:
    page = visit(path)
    page.locator("main details").evaluate_all("parts => parts.forEach((part) => part.open = true)")
    assert find_flaws(page) == []
    asked = page.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    assert len([one for one in asked if "/static/" in one]) < 10


def test_chart_texts_are_readable_on_a_phone(visit: Visit) -> None:
    page = visit("/", width=390)
    sizes = page.evaluate(
        "Array.from(document.querySelectorAll('.chart text')).map("
        "text => parseFloat(getComputedStyle(text).fontSize)"
        " * text.ownerSVGElement.getBoundingClientRect().width / 360)"
    )
    assert len(sizes) > 20
    assert min(sizes) >= 10


@pytest.mark.parametrize("width", [1280, 390])
def test_chart_texts_do_not_overlap(visit: Visit, width: int) -> None:
    page = visit("/runs/candidate?tab=groups", width=width)
    overlaps = page.evaluate(
        """() => Array.from(document.querySelectorAll('.chart')).flatMap(chart => {
          const boxes = Array.from(chart.querySelectorAll('text')).filter(t => t.textContent)
            .map(t => [t.textContent, t.getBoundingClientRect()]);
          return boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([b, q]) =>
            p.left + 1 < q.right && q.left + 1 < p.right &&
            p.top + 3 < q.bottom && q.top + 3 < p.bottom
          ).map(([b]) => a + ' / ' + b));
        })"""
    )
    assert overlaps == []


def test_metrics_are_chosen_by_keyboard(visit: Visit) -> None:
    page = visit("/")
    page.get_by_label("Metric").focus()
    page.keyboard.type("Stale")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("metric=stale_share"))
    expect(page.locator(".panel h3").first).to_contain_text("stale share")


def test_a_run_is_one_click_from_the_overview_and_its_sql_two(visit: Visit) -> None:
    page = visit("/")
    page.get_by_role("link", name="candidate", exact=True).first.click()
    expect(page).to_have_title("Run candidate · claimwise")
    page.get_by_role("link", name="Metrics", exact=True).click()
    page.get_by_role("link", name="SQL of faithfulness").first.click()
    expect(page.locator("pre").first).to_contain_text("claimwise sql faithfulness --run candidate")


def test_the_first_screen_says_whether_to_ship_the_rate_its_change_and_the_worst(
    visit: Visit,
) -> None:
    """The 20-second test: without scrolling, on a laptop."""
    page = visit("/")
    page.set_viewport_size({"width": 1280, "height": 800})
    for told in ("#ship", "#headline", "#change", "#worst-group", ".worst-claims li >> nth=1"):
        expect(page.locator(told)).to_be_in_viewport(ratio=1)


def test_marks_of_charts_lead_to_their_claims(visit: Visit) -> None:
    page = visit("/")
    page.locator(".chart-link[aria-label^='contradicted']").first.click()
    expect(page).to_have_url(re.compile(r"/claims\?run=candidate&verdict=contradicted"))
    expect(page.locator(".result")).to_contain_text("8 claims")


def test_on_a_phone_the_places_are_tabs_at_the_bottom(visit: Visit) -> None:
    page = visit("/", width=390)
    page.evaluate("scrollTo(0, 600)")
    box = page.locator(".places").bounding_box()
    assert box is not None
    height = page.evaluate("innerHeight")
    assert box["y"] + box["height"] == pytest.approx(height, abs=1)
    page.get_by_role("link", name="Runs", exact=True).click()
    expect(page.locator(".places [aria-current]")).to_have_text("Runs")


def test_an_open_page_that_was_current_hears_of_new_labels(
    visit: Visit, running: RunningApp
) -> None:
    page = visit("/compare")
    page.evaluate("document.body.dataset.same = 'yes'")
    flipped = page.get_by_role("link", name="claims flipped")
    expect(flipped).to_have_text("14 claims flipped")
    with running.open() as store:
        gone = (
            "delete from labels where run_id = 'candidate' and item_id like 'lookup-1%' "
            "and label_kind = 'human'"
        )
        store.execute_all([(gone, {})])
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")  # someone comes back
    expect(flipped).not_to_have_text("14 claims flipped")
    wait_figures(page)
    assert page.evaluate("document.body.dataset.same") == "yes", "it was not loaded again"


def test_an_invite_is_copied_with_a_button(visit: Visit) -> None:
    page = visit("/people")
    page.get_by_role("button", name="Make link").click()
    copy = page.get_by_role("button", name="Copy link")
    expect(copy).to_be_visible()  # the page that follows the click is there
    page.evaluate(
        "navigator.clipboard.writeText = (text) => { document.body.dataset.copied = text; }"
    )
    copy.click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("document.body.dataset.copied") == page.locator(".token").inner_text()


@pytest.mark.parametrize(
    "path", ["/", "/runs", "/runs/candidate?tab=groups", "/agreement/candidate"]
)
def test_pages_update_by_themselves_when_new_figures_are_ready(
    visit: Visit, running: RunningApp, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    page = visit(path)
    before = page.locator("main").inner_text()
    go = threading.Event()

    def hold(measure: Callable[..., Any]) -> Callable[..., Any]:
        def measure_late(*arguments: Any, **more: Any) -> Any:
            assert go.wait(DEADLINE)
            return measure(*arguments, **more)

        return measure_late

    monkeypatch.setattr(runs, "measure_run", hold(measure_run))
    monkeypatch.setattr(summaries, "find_basis", hold(find_basis))
    for module in (dashboard, agreement):
        monkeypatch.setattr(module, "measure_people", hold(module.measure_people))
    monkeypatch.setitem(FigureStore.get.__kwdefaults__ or {}, "patience", 0.0)
    with running.open() as store:
        changed = "update labels set labeled_at = :now where run_id = 'candidate'"
        store.execute_all([(changed, {"now": utc_now()})])
    page.reload()
    state = page.locator("[data-figures]")
    expect(state).to_have_attribute("data-figures", "calculating")
    expect(state).to_have_text("Checking for newer labels… (updates by itself)")
    as_of = state.get_attribute("data-as-of")
    assert page.locator("main").inner_text().startswith(before[:20]), "older figures are shown"
    foldable = page.locator("details summary").count() > 0
    if foldable:
        page.locator("details summary").first.click()
        unfolded = page.locator("details").first.evaluate("part => part.open")
    page.evaluate("document.body.dataset.same = 'yes'")
    go.set()
    wait_figures(page)
    expect(state).to_have_text("")
    assert state.get_attribute("data-as-of") != as_of
    assert page.evaluate("document.body.dataset.same") == "yes", "it was not loaded again"
    if foldable:
        assert page.locator("details").first.evaluate("part => part.open") == unfolded
        expect(page.locator("details summary").first).to_be_focused()
