"""Every page there is, found by its route, in a real Chromium: light, accessible, and not silent.

A new page with an id in its path needs a line in ``fill_ids`` that finds one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page

from browser.desk import log_in, wait_ready
from browser.tabs import LendTab, Tab
from claimwise.accounts.queries import create_account, create_invite, create_setup_invite
from claimwise.accounts.shares import create_share
from claimwise.app.app import list_routes
from claimwise.app.navigation import NAV
from claimwise.calibration.calibrate import calibrate_verifier
from claimwise.config import Config, Project
from claimwise.gates.history import keep_results
from claimwise.gates.run import run_gates
from claimwise.gates.values import Gate
from claimwise.labelling.draw import draw_round
from claimwise.labelling.guide import read_guide
from claimwise.labelling.queue import add_guide, list_disputes, save_label, take_task
from claimwise.labelling.values import Choice
from claimwise.metrics import load_metrics
from claimwise.monitoring.settings import MonitorSettings
from claimwise.monitoring.watch import watch_all
from claimwise.store import Store
from small_data import item, load
from support.app_server import PASSWORD, Person, RunningApp, run_app, utc_now
from support.axe import find_flaws
from support.copies import StoreCopies, add_demo, add_nothing
from support.gates import write_gates
from support.monitored_traffic import DAY, FIRST, TrafficWriter

MOST_REQUESTS = 10
MOST_SCRIPT = 120_000  # bytes
FILES = {"/claims.csv", "/monitor/metrics"}  # downloads, for programs
RUN = "candidate"
TABS = ("groups", "claims", "metrics", "method")
# Charts of agreement, of parts of a change, and for strangers lead to no claims.
NO_CLAIMS = {"/agreement", "/agreement/{run_id:path}", "/drift", "/share/{token}"}
KAPPAS = {"/calibrations/{calibration_id}": 2}


def list_pages() -> list[str]:
    """Return the paths of all routes that show a page."""
    paths = [route.path for route in list_routes() if route.method == "GET"]
    return [path for path in paths if not path.startswith("/api/") and path not in FILES]


def add_everything(store: Store) -> None:
    """Add something for every page to show."""
    add_demo(store)
    now = utc_now()
    for name in ("ana", "ben"):
        load(store, {"type": "labelers", "labeler": name, "labeler_kind": "human"})
    create_account(store, "maria", "admin", PASSWORD, now)
    add_dispute(store)
    load(store, item("waits", source_corpus_ver="2026-09"),
         {"type": "annotation_queue", "entry_id": "gold-1", "task": "gold_spans",
          "item_id": "waits", "reason": "made from an incident",
          "added_at": "2026-02-01T00:00:00Z"})  # fmt: skip
    project = Project(
        Path("/nowhere"), Config(gates=write_gates(Gate(metric="faithfulness", min=0.7)))
    )
    keep_results(store, run_gates(store, project, RUN), load_metrics())
    calibrate_verifier(store, "verifier:overlap-v0", now=now)
    writer = TrafficWriter(store)
    writer.add_days(0, 35)
    writer.add_days(35, 49, wrong=9)
    watch_all(store, MonitorSettings(wait_days=0), FIRST + 49 * DAY)


def add_dispute(store: Store) -> None:
    """Let two people label one claim differently."""
    guide = read_guide("grounded")
    add_guide(store, guide.version, guide.text, utc_now())
    drawn = draw_round(
        store, RUN, "grounded", title="A round", size=3, overlap=1.0, created_by="maria",
        guide_version=guide.version, now=utc_now(),
    )  # fmt: skip
    while task := take_task(store, drawn.round_id, "ana", utc_now()):
        save_label(store, task.task_id, "ana", Choice(verdict="unlinked"), utc_now())
    while task := take_task(store, drawn.round_id, "ben", utc_now()):
        source = task.sources[0]
        differs = Choice(
            verdict="contradicted", source_id=source.source_id, span_start=0,
            span_text=source.source_text[:30],
        )  # fmt: skip
        save_label(store, task.task_id, "ben", differs, utc_now())


def fill_ids(store: Store) -> dict[str, str]:
    """Return an id for every place in a path that needs one."""

    def read(sql: str) -> str:
        return str(store.query(sql)[0][0])

    round_id = read("select round_id from annotation_rounds")
    return {
        "{round_id}": round_id,
        "{task_id}": list_disputes(store, round_id)[0].task_id,
        "{run_id:path}": RUN,
        "{version:path}": read("select guide_version from guide_versions"),
        "{item_id:path}": "agg-02",
        "{entry_id:path}": "gold-1",
        "{alarm_id}": read("select alarm_id from alarms"),
        "{event_id}": read("select event_id from gate_results"),
        "{calibration_id}": read("select calibration_id from calibrations"),
        "{name}": "faithfulness",
    }


def list_queries(store: Store) -> dict[str, str]:
    """Return what pages must be asked for that do not choose by themselves."""
    claim_id = store.query(
        "select claim_id from claims where run_id = :run and item_id = 'agg-02' "
        "and claim_type <> 'non_factual' order by claim_id",
        {"run": RUN},
    )[0][0]
    return {
        "/answers": f"?run={RUN}&item=agg-02",
        "/label-claim": f"?run={RUN}&item=agg-02&claim={claim_id}",
        "/compare": f"?base=baseline&new={RUN}",
        "/drift": f"?base=baseline&new={RUN}",
        "/items": f"?run={RUN}&metric=quadrant&part=unfaithful_wrong",
    }


@pytest.fixture(scope="module")
def running(
    store_copies: StoreCopies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningApp]:
    place = store_copies.copy("sqlite", add_everything)
    with run_app(place, tmp_path_factory.mktemp("pages")) as app:
        yield app


@pytest.fixture(scope="module")
def empty(
    store_copies: StoreCopies, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningApp]:
    place = store_copies.copy("sqlite", add_nothing)
    with run_app(place, tmp_path_factory.mktemp("empty")) as app:
        yield app


def make_person(app: RunningApp, cookies: list[tuple[str, str]]) -> Person:
    """Return someone without scripts who shares a browser's session."""
    person = app.visit()
    for name, value in cookies:
        person.web.cookies.set(name, value)
    return person


def list_addresses(app: RunningApp) -> dict[str, str]:
    """Return where each page of the app is, by its route."""
    with app.open() as store:
        ids, queries = fill_ids(store), list_queries(store)
        tokens = {
            "/invite/{token}": create_invite(store, "labeler", "maria", utc_now()),
            "/share/{token}": create_share(store, "ferny-assistant", "maria", utc_now()),
        }
    found = {}
    for route in list_pages():
        path = route.replace("{token}", tokens.get(route, ""))
        for place in re.findall(r"\{[^}]+\}", path):
            path = path.replace(place, ids[place])
        found[route] = path + queries.get(route, "")
    del found["/setup/{token}"]  # worth nothing once there is an account: see the empty store
    found |= {f"/runs/{{run_id:path}}?tab={tab}": f"/runs/{RUN}?tab={tab}" for tab in TABS}
    return found


def load_page(tab: Tab, url: str) -> int:
    """Open a page; return its status. The tab knows what was asked for, and what came."""
    tab.requests.clear()
    tab.responses.clear()
    answer = tab.page.goto(url)
    if tab.page.locator("#desk").count():
        wait_ready(tab.page)
    assert answer is not None
    return answer.status


def count_dead_marks(page: Page) -> int:
    """Return how many rates of a page's charts lead nowhere."""
    marks = page.locator("svg :is(circle, .chart-cell, .chart-cell-alarm)")
    linked = page.locator("svg a :is(circle, .chart-cell, .chart-cell-alarm)")
    patterns = page.locator("svg pattern circle")
    return marks.count() - linked.count() - patterns.count()


def test_every_page_is_light_and_accessible(lend_tab: LendTab, running: RunningApp) -> None:
    """At most 10 requests and 120 kB of script; nothing that axe finds, wide, narrow or dark.

    And every mark of a chart leads to what it counts.
    """
    tab = lend_tab()
    log_in(tab.page.context, running, "maria")
    cookies = [(one["name"], one["value"]) for one in tab.page.context.cookies()]
    person = make_person(running, cookies)
    wrong: dict[str, list[str]] = {}
    heaviest = 0
    for route, path in list_addresses(running).items():
        person.get_current(path)  # a page whose figures are being calculated asks for itself again
        status = load_page(tab, running.url + path)
        scripts = [one.url for one in tab.responses if one.request.resource_type == "script"]
        script = sum(len(person.web.get(url).content) for url in scripts)  # cached ones as well
        asked = [url for url in tab.requests if not url.startswith("data:")]
        found = [] if status == 200 else [f"status {status}"]
        if len(asked) > MOST_REQUESTS:
            found.append(f"{len(asked)} requests: {asked}")
        if script > MOST_SCRIPT:
            found.append(f"{script:,} bytes of script")
        tab.page.locator("main details").evaluate_all(
            "all => all.forEach((one) => one.open = true)"
        )
        found += find_flaws(tab.page)
        dead = count_dead_marks(tab.page)
        if route not in NO_CLAIMS and dead > KAPPAS.get(route, 0):
            found.append(f"{dead} marks lead nowhere")
        if found:
            wrong[route] = found
        heaviest = max(heaviest, script)
    assert wrong == {}
    assert heaviest > 10_000, "the desk has scripts: they are weighed"
    assert tab.warnings + tab.errors == []


def test_an_empty_store_s_pages_say_what_to_do_next(lend_tab: LendTab, empty: RunningApp) -> None:
    tab = lend_tab()
    with empty.open() as store:
        token = create_setup_invite(store, utc_now())
    assert load_page(tab, f"{empty.url}/setup/{token}") == 200
    assert find_flaws(tab.page) == []
    with empty.open() as store:
        create_account(store, "maria", "admin", PASSWORD, utc_now())
    log_in(tab.page.context, empty, "maria")
    menu = {page.path for section in NAV for page in section.pages}
    silent = {}
    for route in list_pages():
        if "{" in route:
            continue
        status = load_page(tab, empty.url + route)
        main = tab.page.locator("main")
        steps = main.locator("a, button, code").count()
        wanted = {200} if route in menu else {200, 404}
        if status not in wanted or not main.inner_text().strip() or not steps:
            silent[route] = f"{status}: {main.inner_text()!r}"
        assert find_flaws(tab.page) == [], route
    assert silent == {}
