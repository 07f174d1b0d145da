"""A real browser, and pages that must be one quiet file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from browser.desk import PEOPLE, Visit, log_in, wait_ready
from browser.tabs import LendTab, Tab, TabPool
from claimwise.accounts.queries import create_account
from claimwise.store import open_store
from support.app_server import PASSWORD, RunningApp, run_app, utc_now
from support.desk_data import fill_store
from support.waiting import DEADLINE

# Chromium without windows does the same with half the work.
_WITHOUT_WINDOWS = Path("/usr/lib/chromium/chromium-headless-shell")
CHROMIUM = _WITHOUT_WINDOWS if _WITHOUT_WINDOWS.exists() else Path("/usr/bin/chromium")
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--renderer-process-limit=1", "--disable-site-isolation-trials",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip

expect.set_options(timeout=1000 * DEADLINE)  # else five seconds, which a busy machine may take

Open = Callable[[Path, int, str], Page]


# Not for the whole session: Playwright keeps an event loop running in this thread, and other
# tests need one of their own.
@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    assert CHROMIUM.exists(), "Chromium is not installed: `make test` installs it"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="package")
def _tab_pool(browser: Browser) -> TabPool:
    """Tabs that one test after the other gets."""
    return TabPool(browser)


@pytest.fixture
def lend_tab(_tab_pool: TabPool) -> Iterator[LendTab]:
    """Lend empty tabs, each with cookies of its own, until the test ends."""
    yield _tab_pool.lend
    _tab_pool.take_back()


@pytest.fixture
def open_page(lend_tab: LendTab) -> Open:
    """Open a file at a width and in a colour scheme: it asks for nothing else and complains not."""

    def open_file(path: Path, width: int, scheme: str) -> Page:
        tab = lend_tab(width=width, scheme=scheme)
        tab.page.goto(path.as_uri())
        assert tab.requests == [path.as_uri()], "the page is one file"
        assert tab.console + tab.errors == []
        return tab.page

    return open_file


@pytest.fixture(scope="session")
def desk_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The desk's own data with an account for everyone in PEOPLE. Copy it."""
    place = tmp_path_factory.mktemp("desk") / "desk.db"
    with open_store(place, create=True) as store:
        fill_store(store)
        for name, role in PEOPLE.items():
            create_account(store, name, role, PASSWORD, utc_now())
    return place


@pytest.fixture
def desk_app(desk_store: Path, tmp_path: Path) -> Iterator[RunningApp]:
    """The app over a copy of the desk's data."""
    place = tmp_path / "desk.db"
    shutil.copy(desk_store, place)
    with run_app(str(place), tmp_path) as app:
        yield app


@pytest.fixture
def visit(lend_tab: LendTab, desk_app: RunningApp) -> Iterator[Visit]:
    """Open a page of the app as someone; it asks nobody else for anything and complains not."""
    tabs: list[Tab] = []

    def open_as(name: str, path: str, *, width: int = 1280, scheme: str = "light") -> Page:
        tab = lend_tab(width=width, scheme=scheme)
        tabs.append(tab)
        log_in(tab.page.context, desk_app, name)
        tab.page.goto(desk_app.url + path)
        if tab.page.locator("#desk").count():
            wait_ready(tab.page)
        return tab.page

    yield open_as
    assert [error for tab in tabs for error in tab.errors] == []
    ours = (f"{desk_app.url}/", "data:")
    assert [url for tab in tabs for url in tab.requests if not url.startswith(ours)] == []
