"""The overview, runs and SQL pages: the report's own figures, and something for every emptiness."""

from __future__ import annotations

import html
import re
import threading
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest

from claimwise.accounts.values import Account, Role
from claimwise.app.dashboard import show_dashboard
from claimwise.app.figures import FigureStore
from claimwise.app.panels import draw_slices
from claimwise.app.pool import StorePool
from claimwise.app.requests import Call, Refusal, Response
from claimwise.app.runs import MOST_RUNS, show_run, show_runs
from claimwise.app.sql import show_query
from claimwise.config import Project
from claimwise.metrics import load_metrics
from claimwise.report.format import name_in_words
from claimwise.run_report import build_report, sentences
from claimwise.run_report.values import Report
from claimwise.store import Store, open_store
from small_data import answer, item, label, run, source, to_rows
from support.waiting import DEADLINE

NOW = datetime.fromisoformat("2026-11-15T12:00:00")


def make_call(store: Store, role: Role = "admin", **more: Any) -> Call:
    account = Account(account="maria", role=role, created_at=NOW)
    return Call(store=store, account=account, project=Project(Path("/nowhere")), now=NOW, **more)


@pytest.fixture(scope="module")
def demo_pool(demo_place: str) -> Iterator[StorePool]:
    """Connections to the demo data: figures that are measured over them are kept for all tests."""
    pool = StorePool(lambda: open_store(demo_place))
    yield pool
    pool.close()


@pytest.fixture
def call_demo(
    demo_store: Store, demo_pool: StorePool, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Call]:
    """Make a call over the demo data that waits for its figures."""
    monkeypatch.setitem(FigureStore.get.__kwdefaults__ or {}, "patience", DEADLINE)
    return partial(make_call, demo_store, borrow=demo_pool.borrow)


@pytest.fixture(scope="module")
def read_report(demo_place: str) -> Callable[[str], Report]:
    """Measure a run of the demo data once."""

    @cache
    def build(run_id: str) -> Report:
        with open_store(demo_place) as store:
            return build_report(store, load_metrics(), run_id, version="0")

    return build


def read(response: Response) -> str:
    """Return the words of a page, as one line."""
    body = response.body.decode()
    assert " style=" not in body
    assert "<script>" not in body
    main = body[body.index("<main") :]
    main = re.sub(r"<(svg|option).*?</\1>", " ", main, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", main)).split())


def fill(store: Store, *records: dict[str, Any]) -> None:
    store.load(to_rows(records), ["file"], lenient=True)


def test_overview_leads_with_the_reports_worst_slice(
    call_demo: Callable[..., Call], read_report: Callable[[str], Report]
) -> None:
    report = read_report("candidate")
    worst = sentences.describe_worst(report)[0]
    told = read(show_dashboard(call_demo()))
    assert f"Clearly worst: {worst.metric} in {worst.where}" in told
    assert f"{worst.rate} {worst.interval}" in told
    assert worst.explanation in told
    assert "Supported claims 87% range 76–91.8%" in told
    assert "Basis : people labelled 177 of 189 claims; the range allows for the rest" in told
    assert "Judged by: people by guide 1: 177 labels." in told
    assert "Measured at" in told or "Measured between" in told
    assert "12 of 189, bounds [0.815, 0.878]" in told


def test_the_worst_slice_is_the_first_of_the_chart(read_report: Callable[[str], Report]) -> None:
    for run_id in ("baseline", "candidate"):
        report = read_report(run_id)
        for worst in sentences.describe_worst(report):
            members = {one.title: one for one in draw_slices(report, worst.row.metric)}
            first = members[name_in_words(worst.metric)].rows[0]
            assert first.slice == worst.row.slice, worst.metric


def test_every_overall_figure_of_a_runs_page_is_the_reports(
    call_demo: Callable[..., Call], read_report: Callable[[str], Report]
) -> None:
    report = read_report("baseline")
    told = read(show_run(call_demo(path={"run_id": "baseline"})))
    for table in report.tables:
        for row in table.overall:
            assert f"{row.micro:.3f} [{row.low:.3f}, {row.high:.3f}]" in told
    for instrument in report.instruments:
        assert instrument.labeler in told


@pytest.mark.parametrize("metric", ["citation_recall", "abstention", "stale_share"])
def test_metrics_can_be_chosen(call_demo: Callable[..., Call], metric: str) -> None:
    response = show_dashboard(call_demo(query={"metric": metric}))
    assert f'<option value="{metric}" selected>' in response.body.decode()
    told = read(response)
    wanted = {"citation_recall": 1, "abstention": 2, "stale_share": 1}[metric]
    assert told.count("is better") == wanted
    assert f"/sql/{metric}" in response.body.decode()


def test_unknown_choices_fall_back(call_demo: Callable[..., Call]) -> None:
    query = {"metric": "'; drop table runs", "system": "<script>"}
    told = read(show_dashboard(call_demo(query=query)))
    assert "Clearly worst: faithfulness" in told


def test_labelers_are_sent_to_their_work(store: Store) -> None:
    response = show_dashboard(make_call(store, "labeler"))
    assert (response.status, response.headers["location"]) == (303, "/label")


def test_runs_are_listed_with_their_figures(
    call_demo: Callable[..., Call], read_report: Callable[[str], Report]
) -> None:
    told = read(show_runs(call_demo()))
    assert "ferny-assistant 2 runs" in told
    for name in ("baseline", "candidate"):
        one = read_report(name).headline
        assert f"{one.rate:.3f} [{one.low:.3f}, {one.high:.3f}]" in told


def test_no_runs(store: Store) -> None:
    assert "No runs yet" in read(show_dashboard(make_call(store)))
    assert "No runs yet" in read(show_runs(make_call(store)))
    with pytest.raises(Refusal, match="no such run"):
        show_run(make_call(store, path={"run_id": "x"}))


def test_one_run_without_labels(store: Store) -> None:
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall.", "It is old."))
    told = read(show_dashboard(make_call(store)))
    assert "No worst slice yet" in told
    assert "0 of 2" not in told
    assert "unscored 2 of 2, bounds [0.000, 1.000]" in told
    assert "Agreement unknown" in told
    told = read(show_run(make_call(store, path={"run_id": "r"})))
    assert "Nobody has labelled this run" in told
    assert "2 claims asked, none scored" in told


def test_a_run_whose_claims_are_all_unscored(store: Store) -> None:
    fill(
        store,
        source(),
        item("q1"),
        run(),
        answer("q1", "It is tall."),
        {"type": "unscored", "run_id": "r", "item_id": "q1", "claim_text": "It is tall.",
         "judgement": "grounded", "labeler": "verifier:x", "failed_at": "2026-02-01T00:00:00Z",
         "reason": "timeout"},
    )  # fmt: skip
    told = read(show_run(make_call(store, path={"run_id": "r"})))
    assert "1 of 1 claim without a verdict: timeout 1" in told
    assert "1 of 1, bounds [0.000, 1.000]" in read(show_dashboard(make_call(store)))


def test_an_instrument_alone_is_of_unknown_agreement(store: Store) -> None:
    judged = label("q1", "It is tall.", "unlinked", labeler="verifier:x")
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall."), judged)
    told = read(show_dashboard(make_call(store)))
    assert "verifier:x: 1 label (not yet checked against people)" in told
    assert "Next : Label the 1 claim: claimwise annotate --run r" in told


def test_only_the_newest_runs_of_a_system_are_measured(store: Store) -> None:
    days = [run(f"r{n:02}", started_at=f"2026-01-01T00:{n:02}:00Z") for n in range(MOST_RUNS + 3)]
    fill(store, source(), item("q1"), *days, run("other", system="another"))
    body = show_runs(make_call(store)).body.decode()
    assert f"{MOST_RUNS + 3} runs, the newest {MOST_RUNS} shown" in body
    assert "/runs/r03" in body
    assert "/runs/r02" not in body
    assert "/runs/other" in body
    overview = show_dashboard(make_call(store, query={"system": "another"}))
    assert "newest run other" in read(overview)


@pytest.mark.each_engine
def test_runs_that_are_still_being_measured_say_so(
    store: Store, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall."))
    go = threading.Event()

    def build_slowly(*arguments: Any, **more: Any) -> Report:
        assert go.wait(DEADLINE)
        return build_report(*arguments, **more)

    monkeypatch.setattr("claimwise.app.runs.build_report", build_slowly)
    pool = StorePool(lambda: open_store(place))
    monkeypatch.setitem(FigureStore.get.__kwdefaults__ or {}, "patience", 0.05)
    told = read(show_dashboard(make_call(store, borrow=pool.borrow)))
    assert "Calculating 1 run… (updates by itself)" in told
    assert "Calculating the newest run…" in told
    assert "Agreement unknown: it is being calculated." in told
    assert "Calculating 1 run…" in read(show_runs(make_call(store, borrow=pool.borrow)))
    run_page: dict[str, Any] = {"path": {"run_id": "r"}, "borrow": pool.borrow}
    assert "Calculating 1 run…" in read(show_run(make_call(store, **run_page)))
    go.set()
    monkeypatch.setitem(FigureStore.get.__kwdefaults__ or {}, "patience", DEADLINE)
    told = read(show_run(make_call(store, **run_page)))
    assert "Measured at" in told
    assert "updates by itself" not in told
    assert "Nobody has labelled this run" in told
    pool.close()


def test_overview_waits_once_for_all_its_figures(
    store: Store, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it begins with is measured first: the newest run, then how far people agree on it."""
    fill(store, source(), item("q1"), run(), run("older", started_at="2025-01-01T00:00:00Z"),
         answer("q1", "It is tall."))  # fmt: skip
    asked: list[list[Any]] = []
    get = FigureStore.get

    def note(figures: FigureStore, wanted: Any, **more: Any) -> Any:
        asked.append([one.key for one in wanted])
        return get(figures, wanted, **more)

    monkeypatch.setattr(FigureStore, "get", note)
    pool = StorePool(lambda: open_store(place))
    assert show_dashboard(make_call(store, borrow=pool.borrow)).status == 200
    pool.close()
    assert asked == [[("report", "r"), ("agreement", "r"), ("report", "older")]]


def test_a_run_that_can_not_be_measured_says_why(store: Store, tmp_path: Path) -> None:
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall."))
    call = make_call(store, path={"run_id": "r"})
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "broken.sql").write_text("select 1")
    call.project = Project(tmp_path)
    told = read(show_run(call))
    assert "r could not be measured" in told
    assert "broken.sql: the header lacks -- title" in told


def test_hostile_names_stay_text(store: Store) -> None:
    name = '<img src=x onerror="alert(1)">\'"/../x'
    fill(
        store,
        source(),
        item("q1"),
        run(name, system="<b>bold</b>", model="<script>1</script>"),
        answer("q1", "It is tall.", run_id=name),
        label("q1", "It is tall.", "unlinked", run_id=name, labeler="<i>ana</i>"),
    )
    for response in (
        show_dashboard(make_call(store)),
        show_runs(make_call(store)),
        show_run(make_call(store, path={"run_id": name})),
    ):
        body = response.body.decode()
        assert "<img" not in body
        assert "<b>bold" not in body
        assert "<i>" not in body
        assert "<script>" not in body


def test_sql_is_shown_with_how_to_run_it(call_demo: Callable[..., Call]) -> None:
    query = {"run": "can'didate; rm"}
    told = read(show_query(call_demo(path={"name": "faithfulness"}, query=query)))
    assert load_metrics()["faithfulness"].meaning.split(";")[0] in told
    assert "from deciding_labels as d" in told
    assert "claimwise metrics --metric faithfulness --run 'can'\"'\"'didate; rm'" in told
    told = read(show_query(call_demo(path={"name": "deciding_labels"})))
    assert "create view deciding_labels as" in told
    with pytest.raises(Refusal, match="no metric or view"):
        show_query(call_demo(path={"name": "../x"}))


def test_every_link_to_sql_leads_somewhere(call_demo: Callable[..., Call]) -> None:
    pages = [
        show_dashboard(call_demo()),
        show_runs(call_demo()),
        show_run(call_demo(path={"run_id": "candidate"})),
    ]
    names = {name for page in pages for name in re.findall(r'"/sql/(\w+)', page.body.decode())}
    assert {"faithfulness", "verdict_shares", "quadrant", "abstention"} <= names
    for name in names:
        assert show_query(call_demo(path={"name": name})).status == 200


def test_every_chart_has_its_table(call_demo: Callable[..., Call]) -> None:
    pages = (
        show_dashboard(call_demo()),
        show_run(call_demo(path={"run_id": "candidate"})),
    )
    for page in pages:
        panels = page.body.decode().split('<div class="panel">')[1:]
        assert len(panels) >= 4
        for panel in panels:
            assert panel.count("<svg") == 1
            assert "<table>" in panel
            assert 'href="/sql/' in panel
