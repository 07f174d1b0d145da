"""The HTML comparison in a real Chromium."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from browser.test_report_page import CHROMIUM, QUIET
from claimwise.cli.main import run
from claimwise.demo import list_demo_files
from claimwise.pipeline import import_files
from claimwise.store import open_store


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    assert Path(CHROMIUM).exists(), "Chromium is not installed: `make test` installs it"
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("compare")
    with open_store(folder / "claimwise.db", create=True) as store:
        import_files(store, list_demo_files())
    arguments = ["compare", "baseline", "candidate", "--store", str(folder / "claimwise.db")]
    assert run([*arguments, "--format", "html", "-o", str(folder / "page.html")]) == 0
    return folder / "page.html"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_leads_with_the_change(
    browser: Browser, page_path: Path, width: int, scheme: str
) -> None:
    page = browser.new_page(
        viewport={"width": width, "height": 900},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    requests: list[str] = []
    problems: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: problems.append(message.text))
    page.goto(page_path.as_uri())
    assert requests == [page_path.as_uri()], "the page is one file"
    assert problems == []
    headings = page.locator("h1, h2").all_inner_texts()
    assert headings[:2] == ["baseline to candidate", "Change of faithfulness"]
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 253, 250)") == (scheme == "light")
    page.close()


def test_moved_items_stand_side_by_side(browser: Browser, page_path: Path) -> None:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(page_path.as_uri())
    assert page.locator(".moved").count() == 10
    cells = page.locator(".moved").first.locator("tbody tr").first.locator("td")
    left, right = cells.nth(0).bounding_box(), cells.nth(1).bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["width"] == pytest.approx(right["width"], rel=0.1)
    page.close()
