"""The HTML report in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest

from browser.conftest import Open
from claimwise.cli.main import run
from support.copies import StoreCopies, add_demo


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, store_copies: StoreCopies) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    arguments = ["report", "--run", "candidate", "--store", store_copies.copy("sqlite", add_demo)]
    assert run([*arguments, "--format", "html", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_shows_the_worst_slice_first(
    open_page: Open, report: Path, width: int, scheme: str
) -> None:
    page = open_page(report, width, scheme)
    headings = page.locator("h1, h2").all_inner_texts()
    assert headings[0] == "Report on run candidate"
    assert headings[1] == "Worst slice: faithfulness"
    assert page.locator("#worst").is_visible()
    # The page itself never scrolls sideways; wide tables do, inside their own box.
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (_brightness(paper) > _brightness(ink)) == (scheme == "light")
    assert abs(_brightness(paper) - _brightness(ink)) > 150


def test_plots_are_drawn_and_named(open_page: Open, report: Path) -> None:
    page = open_page(report, 1280, "light")
    plots = page.locator("svg[aria-label]")
    assert plots.count() > 50
    box = plots.first.bounding_box()
    assert box is not None
    assert box["width"] > 100
    assert "overall" in (plots.first.get_attribute("aria-label") or "").lower()


def _brightness(color: str) -> float:
    red, green, blue = (float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue
