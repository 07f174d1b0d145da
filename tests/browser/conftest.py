"""A real browser, and pages that must be one quiet file."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from browser.desk import PEOPLE, Visit, log_in, wait_ready
from claimwise.accounts.queries import create_account
from claimwise.store import open_store
from support.app_server import PASSWORD, RunningApp, run_app, utc_now
from support.desk_data import fill_store
from support.waiting import DEADLINE

CHROMIUM = "/usr/bin/chromium"
QUIET = [
    "--no-sandbox", "--disable-gpu", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-first-run",
]  # fmt: skip

expect.set_options(timeout=1000 * DEADLINE)  # else five seconds, which a busy machine may take

Open = Callable[[Path, int, str], Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert Path(CHROMIUM).exists(), "Chromium is not installed: `make test` installs it"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture
def open_page(browser: Browser) -> Iterator[Open]:
    """Open a file at a width and in a colour scheme: it asks for nothing else and complains not."""
    pages: list[Page] = []

    def open_file(path: Path, width: int, scheme: str) -> Page:
        page = browser.new_page(
            viewport={"width": width, "height": 900},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        pages.append(page)
        requests: list[str] = []
        problems: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.on("console", lambda message: problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(path.as_uri())
        assert requests == [path.as_uri()], "the page is one file"
        assert problems == []
        return page

    yield open_file
    for page in pages:
        page.close()


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
def visit(browser: Browser, desk_app: RunningApp) -> Iterator[Visit]:
    """Open a page of the app as someone; it asks nobody else for anything and complains not."""
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def open_as(
        name: str, path: str, *, width: int = 1280, scheme: str = "light", bypass_csp: bool = False
    ) -> Page:
        context = browser.new_context(
            viewport={"width": width, "height": 844},
            color_scheme="dark" if scheme == "dark" else "light",
            bypass_csp=bypass_csp,
        )
        contexts.append(context)
        page = context.new_page()
        page.on("request", lambda asked: _check_request(asked.url, desk_app.url, problems))
        page.on("pageerror", lambda error: problems.append(str(error)))
        log_in(context, desk_app, name)
        page.goto(desk_app.url + path)
        if page.locator("#desk").count():
            wait_ready(page)
        return page

    yield open_as
    for context in contexts:
        context.close()
    assert problems == []


def _check_request(url: str, base: str, problems: list[str]) -> None:
    if not url.startswith((f"{base}/", "data:")):
        problems.append(f"asked for {url}")
