"""The HTML report in a real Chromium."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from browser.conftest import Open
from claimwise.cli.main import run
from support.axe import WIDE, find_flaws
from support.copies import StoreCopies, add_demo


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory, store_copies: StoreCopies) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    arguments = ["report", "--run", "candidate", "--store", store_copies.copy("sqlite", add_demo)]
    assert run([*arguments, "--format", "html", "-o", str(path)]) == 0
    return path


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (320, "dark")])
def test_first_screen_shows_the_rate_its_range_and_the_worst(
    open_page: Open, report: Path, width: int, scheme: str
) -> None:
    page = open_page(report, width, scheme)
    headings = [" ".join(text.split()) for text in page.locator("h1, h2").all_inner_texts()]
    assert headings[:3] == [
        "Run candidate", "87% of claims are supported by their sources", "Worst groups",
    ]  # fmt: skip
    # The page itself never scrolls sideways; wide tables do, inside their own box.
    page.locator("details.method > summary").click()
    overflow = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
    assert overflow <= 0
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert (_brightness(paper) > _brightness(ink)) == (scheme == "light")
    assert abs(_brightness(paper) - _brightness(ink)) > 150


def test_everyone_can_read_it(browser: Browser, report: Path) -> None:
    with browser.new_context(bypass_csp=True) as context:
        page = context.new_page()
        page.goto(report.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        # Of what repeats, claims and rows of tables, some are enough: to look at all takes long.
        page.evaluate(
            "document.querySelectorAll('.answer-card:nth-of-type(n+3), tbody tr:nth-child(n+3)')"
            ".forEach(one => one.remove())"
        )
        assert page.locator(".answer-card").count() > 5
        assert find_flaws(page, WIDE) == []


def test_claims_are_found_as_one_types(open_page: Open, report: Path) -> None:
    page = open_page(report, 1280, "light")
    cards = page.locator(".answer-card:visible")
    page.get_by_role("searchbox").fill("charging  POINTS")
    expect(page.locator("#search output")).to_have_text("1 claim found")
    expect(cards).to_have_count(1)
    expect(cards.locator("mark")).to_be_visible()
    page.get_by_role("searchbox").fill("no such words")
    expect(page.locator("#search output")).to_have_text("0 claims found")
    expect(cards).to_have_count(0)
    page.get_by_role("searchbox").fill("")
    expect(page.locator("details.group:visible")).to_have_count(page.locator(".group").count())


def test_paper_holds_every_claim_and_what_matters_on_two_pages(
    open_page: Open, report: Path
) -> None:
    page = open_page(report, 703, "light")  # A4 less its margins
    page.emulate_media(media="print")
    start = page.locator(".appendix").first.bounding_box()
    assert start is not None
    assert start["y"] < 2 * 1030
    shown = page.locator("details.group .claims > li").evaluate_all(
        "items => items.filter(item => item.checkVisibility({contentVisibilityAuto: true})).length"
    )
    assert shown == 23
    assert not page.get_by_role("searchbox").is_visible()


def test_plots_are_drawn_and_named(open_page: Open, report: Path) -> None:
    page = open_page(report, 1280, "light")
    plots = page.locator("svg[aria-label]")
    assert plots.count() > 50
    box = plots.first.bounding_box()
    assert box is not None
    assert box["width"] > 100
    assert plots.first.get_attribute("aria-label") == "87%, range 76–91.8%"


def _brightness(color: str) -> float:
    red, green, blue = (float(part) for part in color[color.index("(") + 1 : -1].split(",")[:3])
    return 0.299 * red + 0.587 * green + 0.114 * blue
