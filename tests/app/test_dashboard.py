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

import msgspec
import pytest

from claimwise.accounts.values import Account, Role
from claimwise.app.dashboard import show_dashboard
from claimwise.app.figures import FigureStore
from claimwise.app.panels import draw_slices, use_headline
from claimwise.app.pool import StorePool
from claimwise.app.requests import Call, Refusal, Response
from claimwise.app.runs import PAGE, TABS, show_run, show_runs
from claimwise.app.sql import show_query
from claimwise.config import Config, Project
from claimwise.metrics import load_metrics
from claimwise.report.format import name_in_words, show_percent, show_percent_range
from claimwise.run_report import build_report, sentences
from claimwise.run_report.build import measure_run
from claimwise.run_report.summary import summarize_project
from claimwise.run_report.values import Report, Summary
from claimwise.store import Store, open_store
from claimwise.store.runs import list_run_ids
from small_data import answer, item, label, run, source, to_rows
from support.monitored_traffic import TrafficWriter
from support.waiting import DEADLINE, wait_until

NOW = datetime.fromisoformat("2026-11-15T12:00:00")


def make_project(toml: str) -> Project:
    config = msgspec.toml.decode(toml.encode(), type=Config)
    return Project(Path("/nowhere"), config)


def _at(call: Call, run_id: str, tab: str = "") -> Call:
    call.path, call.query = {"run_id": run_id}, {"tab": tab}
    return call


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


def test_overview_answers_can_we_ship_with_the_reports_own_figures(
    call_demo: Callable[..., Call], demo_store: Store
) -> None:
    """Ship, rate, change, worst group and worst claims are those of `claimwise report`."""
    body = show_dashboard(call_demo()).body.decode()
    told = read(show_dashboard(call_demo()))
    summary = summarize_project(demo_store, make_project(""), "candidate")
    assert "? Can't tell: this project has no gate" in told
    assert "Supported claims 87% range 76–91.8% Hallucination rate 13%" in told
    assert "People labelled 177 of 189 claims; the range allows for the rest." in told
    assert "Change since baseline +3.3 points, range −2.1 to +8.8 Could be chance." in told
    assert "58% range 26–84% query_type = aggregation , 11 items: clearly worse" in told
    assert f"{summary.unsupported} claims not supported : 8 contradicted" in told
    places = [told.index(claim.claim_text) for claim in summary.claims]
    assert len(places) == 5
    assert places == sorted(places)
    assert "Measured at" in told or "Measured between" in told
    for link in ("/claims?run=candidate&amp;verdict=unsupported", "/gates?run=candidate",
                 "/claims?run=candidate&amp;verdict=contradicted",
                 "/compare?base=baseline&amp;new=candidate",
                 "/claims?run=candidate&amp;verdict=unsupported&amp;decided=people"
                 "&amp;group=query_type%3Daggregation",
                 "/claims?run=candidate&amp;verdict=unsupported&amp;decided=people",
                 ):  # fmt: skip
        assert f'href="{link}"' in body, link


@pytest.mark.parametrize(
    ("limit", "told"),
    [
        (0.5, "✓ Ready to ship Enough: Faithfulness at least 50%"),
        (0.97, "✗ Not ready to ship Gate enough: Faithfulness must be at least 97% and is at most"),
        (0.87, "? Can't tell yet: a gate needs more evidence Gate enough: Faithfulness must be at"),
    ],
)
def test_gates_say_whether_a_run_can_be_shipped(demo_store: Store, limit: float, told: str) -> None:
    call = _at(make_call(demo_store), "candidate")
    call.project = make_project(
        f'[[gates]]\nmetric = "faithfulness"\nname = "enough"\nmin = {limit}\nmin_agreement = 0\n'
    )
    assert told in read(show_run(call))


def test_the_run_to_compare_with_can_be_chosen(store: Store) -> None:
    days = [run(f"r{n}", started_at=f"2026-01-0{n}T00:00:00Z") for n in (1, 2, 3)]
    said = [(f"r{n}", "supported" if n > 1 else "unlinked") for n in (1, 2, 3)]
    fill(store, source(), *(item(f"q{i}") for i in range(3)), *days,
         *(answer(f"q{i}", "It is tall.", run_id=r) for r, _ in said for i in range(3)),
         *(label(f"q{i}", "It is tall.", v, run_id=r) for r, v in said for i in range(3)),
         )  # fmt: skip
    assert "Change since r2 +0.0 points" in read(show_dashboard(make_call(store)))
    told = read(show_dashboard(make_call(store, query={"baseline": "r1"})))
    assert "Change since r1 +100.0 points" in told
    assert "Change since r2" in read(show_dashboard(make_call(store, query={"baseline": "r3"})))


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
    told = read(show_run(_at(call_demo(), "baseline", "metrics")))
    for table in report.tables:
        for row in (use_headline(report, one) for one in table.overall):
            assert f"{show_percent(row.micro)} ({show_percent_range(row.low, row.high)})" in told
    told = read(show_run(_at(call_demo(), "baseline", "method")))
    for instrument in report.instruments:  # whoever decided no claim is not said to have judged
        assert (instrument.labeler in told) == (instrument.deciding_labels > 0)


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
    assert "ferny-assistant run candidate" in read(show_dashboard(call_demo(query=query)))
    told = read(show_run(_at(call_demo(), "candidate", "nonsense")))
    assert "Supported claims 87%" in told


def test_labelers_are_sent_to_their_work(store: Store) -> None:
    response = show_dashboard(make_call(store, "labeler"))
    assert (response.status, response.headers["location"]) == (303, "/label")


def test_runs_are_listed_with_their_figures(
    call_demo: Callable[..., Call], read_report: Callable[[str], Report]
) -> None:
    told = read(show_runs(call_demo()))
    for name in ("baseline", "candidate"):
        one = read_report(name).headline
        assert f"{show_percent(one.rate)} ({show_percent_range(one.low, one.high)})" in told


def test_no_runs(store: Store) -> None:
    assert "No runs yet" in read(show_dashboard(make_call(store)))
    assert "No runs yet" in read(show_runs(make_call(store)))
    with pytest.raises(Refusal, match="no such run"):
        show_run(make_call(store, path={"run_id": "x"}))


def test_one_run_without_labels(store: Store) -> None:
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall.", "It is old."))
    told = read(show_dashboard(make_call(store)))
    assert "Worst group Not measured: needs labels." in told
    assert "Nothing is judged yet. Run claimwise verify --run r" in told
    assert "2 of 2 ; with them the rate could be 0–100%" in told
    assert "Labeler agreement Not measured" in told
    assert "Nobody has labelled this run" in read(show_run(_at(make_call(store), "r", "method")))
    assert "2 claims asked, none scored" in read(show_run(_at(make_call(store), "r", "metrics")))


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
    told = read(show_run(_at(make_call(store), "r", "method")))
    assert "1 of 1 claim without a verdict (1 timeout)" in told
    assert "Not scored: 1 claim (1 timeout)" in read(show_dashboard(make_call(store)))
    assert "1 ? not scored" in read(show_run(_at(make_call(store), "r", "claims")))


def test_an_instrument_alone_is_of_unknown_agreement(store: Store) -> None:
    judged = label("q1", "It is tall.", "unlinked", labeler="verifier:x")
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall."), judged)
    told = read(show_dashboard(make_call(store)))
    assert "verifier:x: 1 label (not yet checked against people)" in told
    assert "Make the rate more certain: label the 1 claim claimwise annotate --run r" in told


@pytest.mark.each_engine
def test_all_runs_are_found_page_by_page_and_by_their_words(store: Store) -> None:
    days = [run(f"r{n:02}", started_at=f"2026-01-01T00:{n:02}:00Z") for n in range(PAGE + 3)]
    fill(store, source(), item("q1"), *days, run("100%_other", system="another", model="Larch 2"))

    def list_runs(**query: str) -> list[str]:
        body = show_runs(make_call(store, query=query)).body.decode()
        return re.findall(r'<th scope="row"><a href="/runs/([^"]+)"', body)

    first = list_runs()
    second = list_runs(after=first[-1])
    assert len(first) == PAGE
    assert sorted(first + second) == sorted(
        [f"r{n:02}" for n in range(PAGE + 3)] + ["100%25_other"]
    )
    assert list_runs(q="larch another") == ["100%25_other"]
    assert list_runs(q="0%_O") == ["100%25_other"]
    assert list_runs(q="larch r01") == []
    assert list_runs(system="another") == ["100%25_other"]
    assert list_runs(after="gone") == first
    overview = show_dashboard(make_call(store, query={"system": "another"}))
    assert "run 100%_other" in read(overview)


@pytest.mark.each_engine
def test_days_of_live_traffic_do_not_hide_runs_that_somebody_made(store: Store) -> None:
    """They are newer than any run, and one comes every day: the monitor is about them."""

    def list_shown(**query: str) -> tuple[list[str], str]:
        body = show_runs(make_call(store, query=query)).body.decode()
        return re.findall(r'<th scope="row"><a href="/runs/([^"]+)"', body), body

    TrafficWriter(store).add_days(0, 3)
    days, body = list_shown()
    assert len(days) == 3
    assert 'name="kind"' not in body, "there is nothing to choose from"
    fill(store, source(), item("q1"), run(started_at="2020-01-01T00:00:00Z"))
    assert list_shown()[0] == list_run_ids(store)[:1] == ["r"]
    assert list_shown(kind="traffic")[0] == days
    assert list_shown(kind="all")[0] == [*days, "r"]
    assert "Overview: s run r" in read(show_dashboard(make_call(store)))


@pytest.mark.each_engine
def test_runs_that_are_still_being_measured_say_so(
    store: Store, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall."))
    go = threading.Event()

    def build_slowly(*arguments: Any, **more: Any) -> Report:
        assert go.wait(DEADLINE)
        return measure_run(*arguments, **more)

    def summarize_slowly(*arguments: Any, **more: Any) -> Summary:
        assert go.wait(DEADLINE)
        return summarize_project(*arguments, **more)

    monkeypatch.setattr("claimwise.app.runs.measure_run", build_slowly)
    monkeypatch.setattr("claimwise.app.summaries.summarize_project", summarize_slowly)
    pool = StorePool(lambda: open_store(place))
    monkeypatch.setitem(FigureStore.get.__kwdefaults__ or {}, "patience", 0.05)
    told = read(show_dashboard(make_call(store, borrow=pool.borrow)))
    assert "Calculating 1 run… (updates by itself)" in told
    assert "Calculating the newest run…" in told
    assert "Labeler agreement Not measured: it is being calculated." in told
    run_page: dict[str, Any] = {"path": {"run_id": "r"}, "borrow": pool.borrow}
    assert "Calculating 1 run…" in read(show_run(make_call(store, **run_page)))
    go.set()
    monkeypatch.setitem(FigureStore.get.__kwdefaults__ or {}, "patience", DEADLINE)

    def ask() -> str | None:
        told = read(show_run(make_call(store, **run_page)))
        return None if "updates by itself" in told else told

    told = wait_until(ask, "the page says that it is up to date") or ""
    assert "Measured at" in told
    assert "Nothing is judged yet" in told
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
    first = [("summary", "r", None), ("agreement", "r"), ("judges", "r")]
    assert asked == [[*first, ("report", "r"), ("report", "older")]]


def test_a_run_that_can_not_be_measured_says_why(store: Store, tmp_path: Path) -> None:
    fill(store, source(), item("q1"), run(), answer("q1", "It is tall."))
    call = make_call(store, path={"run_id": "r"})
    (tmp_path / "metrics").mkdir()
    (tmp_path / "metrics" / "broken.sql").write_text("select 1")
    call.project = Project(tmp_path)
    for tab in TABS:
        told = read(show_run(_at(call, "r", tab)))
        assert ("r could not be measured" in told) == (tab != "claims")
        assert ("broken.sql: the header lacks -- title" in told) == (tab != "claims")


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
        *(show_run(_at(make_call(store), name, tab)) for tab in TABS),
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
    assert "from deciding_labels where run_id" in told
    assert "claimwise metrics --metric faithfulness --run 'can'\"'\"'didate; rm'" in told
    told = read(show_query(call_demo(path={"name": "deciding_labels"})))
    assert "create view deciding_labels as" in told
    with pytest.raises(Refusal, match="no metric or view"):
        show_query(call_demo(path={"name": "../x"}))


def test_every_link_to_sql_leads_somewhere(call_demo: Callable[..., Call]) -> None:
    pages = [
        show_dashboard(call_demo()),
        *(show_run(_at(call_demo(), "candidate", tab)) for tab in ("groups", "metrics")),
    ]
    names = {name for page in pages for name in re.findall(r'"/sql/(\w+)', page.body.decode())}
    assert {"faithfulness", "verdict_shares", "quadrant", "abstention"} <= names
    for name in names:
        assert show_query(call_demo(path={"name": name})).status == 200


def test_every_chart_has_its_table(call_demo: Callable[..., Call]) -> None:
    pages = (
        (4, show_dashboard(call_demo())),
        (2, show_run(_at(call_demo(), "candidate", "groups"))),
        (2, show_run(_at(call_demo(), "candidate", "metrics"))),
    )
    for least, page in pages:
        panels = page.body.decode().split('<div class="panel">')[1:]
        assert len(panels) >= least
        for panel in panels:
            assert panel.count("<svg") == 1
            assert "<table>" in panel
            assert 'href="/sql/' in panel
