"""The HTML comparison in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.conftest import Open
from claimwise.cli.main import run
from support.copies import StoreCopies, add_demo


@pytest.fixture(scope="module")
def page_path(tmp_path_factory: pytest.TempPathFactory, store_copies: StoreCopies) -> Path:
    path = tmp_path_factory.mktemp("compare") / "page.html"
    place = store_copies.copy("sqlite", add_demo)
    arguments = ["compare", "baseline", "candidate", "--store", place]
    assert run([*arguments, "--format", "html", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_leads_with_the_change(
    open_page: Open, page_path: Path, width: int, scheme: str
) -> None:
    page = open_page(page_path, width, scheme)
    headings = page.locator("h1, h2").all_inner_texts()
    assert headings[:2] == ["baseline to candidate", "Change of faithfulness"]
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0
    paper = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(255, 253, 250)") == (scheme == "light")


def test_moved_items_stand_side_by_side(open_page: Open, page_path: Path) -> None:
    page = open_page(page_path, 1280, "light")
    assert page.locator(".moved").count() == 10
    cells = page.locator(".moved").first.locator("tbody tr").first.locator("td")
    left, right = cells.nth(0).bounding_box(), cells.nth(1).bounding_box()
    assert left is not None
    assert right is not None
    assert left["y"] == right["y"]
    assert left["width"] == pytest.approx(right["width"], rel=0.1)
