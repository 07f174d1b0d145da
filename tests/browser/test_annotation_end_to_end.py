"""From the first start to the report: real people's way through the app, in a real browser.

The demo's run “candidate” starts with a verifier's labels alone. An admin makes a round of it, two
labelers label twenty claims each by keyboard and differ on some, an adjudicator decides, and the
figures on the pages are those that the commands print.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any, TypeVar

import pytest
from playwright.sync_api import Page, expect

from browser.tabs import LendTab, Tab
from claimwise.cli.main import run
from claimwise.report.format import show_percent, show_percent_range
from claimwise.store import open_store
from support.app_process import AppProcess
from support.tour import (
    CLAIMS,
    RUN,
    decide_all,
    fill_store,
    invite,
    label_all,
    make_account,
    make_round,
    wait_figures,
)

T = TypeVar("T")
Enter = Callable[[], Page]


@pytest.fixture
def stored(place: str, tmp_path: Path) -> str:
    """The demo data, where nobody has labelled the claims of the newest run."""
    folder = tmp_path / "data"
    folder.mkdir()
    aside(fill_store, place, folder)
    return place


@pytest.fixture
def app(stored: str, tmp_path: Path) -> Iterator[AppProcess]:
    with AppProcess(tmp_path, stored) as running:
        yield running
        assert not [line for line in running.lines if line.startswith("error")]


@pytest.fixture
def enter(lend_tab: LendTab) -> Iterator[Enter]:
    """Open a page in a browser of its own, which must not complain."""
    tabs: list[Tab] = []

    def enter_app() -> Page:
        tabs.append(lend_tab())
        return tabs[-1].page

    yield enter_app
    assert [problem for tab in tabs for problem in tab.warnings + tab.errors] == []


def aside(work: Callable[..., T], *arguments: Any) -> T:
    """Do something in another thread: in this one the browser keeps an event loop running."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work, *arguments).result()


def ask(place: str, *arguments: str) -> Any:
    """Return what a command prints as JSON."""
    printed = StringIO()
    with redirect_stdout(printed):
        assert aside(run, [*arguments, "--store", place, "--format", "json"]) == 0
    return json.loads(printed.getvalue())


def show(figure: dict[str, float], between: str = " to ") -> str:
    told = f"{figure['value']:.2f} ({figure['low']:.2f}{between}{figure['high']:.2f})"
    return told.replace("-", "−")


def show_compared(figure: dict[str, float]) -> str:
    """As the judges' page writes it: with a dash, unless that would stand beside a minus."""
    return show(figure, "–" if figure["low"] >= 0 else " to ")


def test_from_first_start_to_the_report(app: AppProcess, stored: str, enter: Enter) -> None:
    admin = enter()
    assert app.setup_link
    make_account(admin, app.setup_link, "maria")
    admin.goto(app.address)
    wait_figures(admin)
    expect(admin.locator("main")).to_contain_text("agrees with people on")  # in another run
    expect(admin.locator("main")).to_contain_text("No open round")
    round_id = make_round(admin, app.address)

    people: dict[str, Page] = {}
    for name, role in (("olga", "labeler"), ("pavel", "labeler"), ("quinn", "adjudicator")):
        people[name] = enter()
        make_account(people[name], invite(admin, app.address, role), name)
    for name, flips in (("olga", 0), ("pavel", 4)):
        people[name].goto(f"{app.address}/")
        expect(people[name]).to_have_url(f"{app.address}/label/{round_id}")
        assert label_all(people[name], flips=flips) == CLAIMS
    disputes = decide_all(people["quinn"], app.address, round_id)

    check_labels(stored, disputes)
    check_agreement(people["quinn"], app.address, stored, disputes)
    check_calibration(people["quinn"], app.address, stored)
    check_report(admin, app.address, stored)


def check_labels(place: str, disputes: int) -> None:
    """Every label is there once, by the guide, with how likely its claim was to be drawn."""
    given, broken = aside(_read_labels, place)
    assert broken == []
    assert [tuple(row) for row in given] == [
        ("olga", "human", CLAIMS, CLAIMS, CLAIMS, CLAIMS),
        ("pavel", "human", CLAIMS, CLAIMS, CLAIMS, CLAIMS),
        ("quinn", "adjudicated", disputes, disputes, disputes, disputes),
    ]


def _read_labels(place: str) -> tuple[list[Any], list[Any]]:
    with open_store(place) as store:
        given = store.query(
            "select labeler, label_kind, count(*), count(distinct claim_id), count(guide_version), "
            "count(inclusion_probability) from labels where run_id = :run_id and label_kind <> "
            "'verifier' group by labeler, label_kind order by labeler",
            {"run_id": RUN},
        )
        return given, store.audit()


def check_agreement(page: Page, address: str, place: str, disputes: int) -> None:
    told = ask(place, "agreement", "--run", RUN)
    kappa = told["overall"]["fleiss"]
    assert 0 < kappa["value"] < 1
    assert told["overall"]["raw"]["value"] == pytest.approx(1 - disputes / CLAIMS)
    page.goto(f"{address}/agreement/{RUN}")
    wait_figures(page)
    shown = show(kappa)
    expect(page.locator("main")).to_contain_text(shown)
    page.goto(f"{address}/")
    wait_figures(page)
    tile = page.locator(".tile", has_text="Labeler agreement")
    expect(tile).to_contain_text(f"{kappa['value']:.2f} kappa")
    expect(tile).to_contain_text(f"{CLAIMS} claims")


def check_calibration(page: Page, address: str, place: str) -> None:
    """The command's calibration stands on the page; the page's own takes its place."""
    told = ask(place, "calibrate", "--verifier", "overlap", "--run", RUN)["overall"]
    assert told["claims"] <= CLAIMS
    assert told["status"] == "unknown"  # twenty claims are too few to trust anything
    page.goto(f"{address}/calibrations")
    overall = page.get_by_role("row").filter(has_text="overall")
    expect(overall).to_contain_text(show_compared(told["kappa"]))
    expect(overall).to_contain_text("unknown")
    page.goto(f"{address}/")
    wait_figures(page)
    tile = page.locator(".tile", has_text="Judges")
    expect(tile).to_contain_text("unknown verifier:overlap-v0")

    page.goto(f"{address}/calibrations")
    page.get_by_role("button", name="Calibrate verifier:overlap-v0").click()
    again = ask(place, "calibrate", "--verifier", "overlap", "--dry-run")["overall"]
    assert again["claims"] > CLAIMS  # the labels of all runs count
    expect(page).to_have_url(re.compile(r"/calibrations/."))
    expect(page.locator("main")).to_contain_text(show_compared(again["kappa"]))


def check_report(page: Page, address: str, place: str) -> None:
    report = ask(place, "report", "--run", RUN)
    assert {"olga", "pavel", "quinn"} <= {one["labeler"] for one in report["instruments"]}
    found = report["headline"]
    assert found["basis"] == "corrected"
    page.goto(f"{address}/")
    wait_figures(page)
    main = page.locator("main")
    band = show_percent_range(found["low"], found["high"])
    expect(main).to_contain_text(f"{show_percent(found['rate'])} range {band}")
    expect(main).to_contain_text(f"corrected by {CLAIMS} labels from people")
    expect(page.locator(".tile", has_text="Labelling progress")).to_contain_text("40 of 40")
