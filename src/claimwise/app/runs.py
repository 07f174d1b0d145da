"""The runs: all of them, page by page, each with its one rate; and one run whole, in tabs."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from claimwise.app import panels
from claimwise.app.claims import look_of
from claimwise.app.figures import Kept, ReadyFigures, Wanted, read_figures
from claimwise.app.panels import MeasuredRun
from claimwise.app.requests import Call, PageRoute, Response, show_moment
from claimwise.app.run_choice import check_run
from claimwise.app.summaries import answer_ship, want_headline, want_summary
from claimwise.calibration.headline import Headline
from claimwise.claims.browse import ClaimFilter, find_claims
from claimwise.claims.queries import choose_judgement, count_claims
from claimwise.config import Project
from claimwise.gates.history import list_outcomes
from claimwise.gates.values import Outcome
from claimwise.metrics import load_metrics
from claimwise.metrics.judge_agreement import find_agreements
from claimwise.report import format as form
from claimwise.report.judges import describe_agreement
from claimwise.run_report import sentences, summary_text
from claimwise.run_report.build import add_agreements, measure_run
from claimwise.run_report.sentences import describe_trust
from claimwise.run_report.values import Report
from claimwise.store import Store
from claimwise.store.runs import (
    FoundRun,
    ListedRun,
    find_previous_run,
    find_runs,
    has_kinds,
    list_systems,
)
from claimwise.types.results import Estimate

MOST_RUNS: Final = 30
DEFAULT_METRIC: Final = "faithfulness"
PAGE: Final = 25
_LONGEST_SEARCH: Final = 200
_MOST_CLAIMS: Final = 20
_KINDS: Final = {"runs": False, "traffic": True, "all": None}  # whether days of live traffic
TABS: Final = ("summary", "groups", "claims", "metrics", "method")


class RunReports(NamedTuple):
    """The reports of some runs as far as they are measured, and when that was."""

    runs: list[MeasuredRun]
    pending: list[str]
    problems: list[tuple[str, str]]  # run, and why it could not be measured
    oldest: datetime | None
    newest: datetime | None
    shown: ReadyFigures


class RunRow(NamedTuple):
    """A run in the list: its rate once that is measured, or why it could not be."""

    run: FoundRun
    headline: Headline | None
    problem: str | None
    outcome: Outcome | None  # of its gates, as they were last applied


def read_reports(call: Call, run_ids: Sequence[tuple[str, datetime | None]]) -> RunReports:
    """Return the reports of runs, measured now or a short while ago."""
    wanted = want_reports(call.project, [run_id for run_id, _ in run_ids])
    return gather_reports(run_ids, read_figures(call, wanted))


def want_reports(project: Project, run_ids: Sequence[str]) -> list[Wanted]:
    """Return how to measure runs' reports, the first one first.

    How far judges agree with people rests on the labels of all runs, so it is found once for all
    the reports of a page.
    """
    return [
        _want_agreements(project, run_ids[0]),
        *(_want_report(project, run_id) for run_id in run_ids),
    ]


def _want_agreements(project: Project, run_id: str) -> Wanted:
    def measure(store: Store) -> dict[str, Estimate]:
        return find_agreements(store, project.settings.confidence)

    return Wanted(("judges", run_id), run_id, measure)


def _want_report(project: Project, run_id: str) -> Wanted:
    def measure(store: Store) -> Report:
        with store.snapshot():
            return measure_run(
                store,
                load_metrics(project.metrics_folder, project.citations),
                run_id,
                by=project.config.metrics.by,
                settings=project.settings,
                version=version("claimwise"),
            )

    return Wanted(("report", run_id), run_id, measure)


def gather_reports(
    run_ids: Sequence[tuple[str, datetime | None]], shown: ReadyFigures
) -> RunReports:
    """Return the reports of runs from the figures that `want_reports` of these runs asks for."""
    judges = shown.kept.get(("judges", run_ids[0][0]))
    found = [
        shown.kept.get(("report", run_id)) if judges and not judges.problem else judges
        for run_id, _ in run_ids
    ]
    runs = [
        MeasuredRun(run_id, show_moment(started), _complete(kept, judges))
        for (run_id, started), kept in zip(run_ids, found, strict=True)
    ]
    return _gather([run_id for run_id, _ in run_ids], found, runs, shown)


def _complete(report: Kept | None, judges: Kept | None) -> Report | None:
    """Return a report that says how far its judges agree with people; None without either."""
    if report is None or report.problem or judges is None:
        return None
    return add_agreements(report.value, judges.value)


def _gather(
    run_ids: Sequence[str],
    found: Sequence[Kept | None],
    runs: list[MeasuredRun],
    shown: ReadyFigures,
) -> RunReports:
    """Say which figures are missing, which failed, and when the others were made."""
    made = [one.made_at for one in found if one is not None and one.problem is None]
    return RunReports(
        runs,
        [run_id for run_id, one in zip(run_ids, found, strict=True) if one is None],
        [(run_id, one.problem) for run_id, one in zip(run_ids, found, strict=True)
         if one is not None and one.problem is not None],
        min(made, default=None),
        max(made, default=None),
        shown,
    )  # fmt: skip


# The list.


def show_runs(call: Call) -> Response:
    """List runs, the latest first, with the one rate of each and what its gates said."""
    search = call.query.get("q", "").strip()[:_LONGEST_SEARCH]
    systems = list_systems(call.store)
    asked = call.query.get("system", "")
    system = asked if asked in dict(systems) else None
    traffic, others = has_kinds(call.store)
    asked_kind = call.query.get("kind", "")
    kind = asked_kind if asked_kind in _KINDS else next(iter(_KINDS))
    found, more = find_runs(
        call.store,
        search=search,
        system=system,
        traffic=_KINDS[kind] if traffic and others else None,
        after=call.query.get("after"),
        limit=PAGE,
    )
    shown = read_figures(call, [want_headline(call.project, run.run_id) for run in found])
    rows = _list_rows(call.store, found, shown)
    chosen = (("q", search), ("system", system), ("kind", asked_kind and kind))
    fields = {name: value for name, value in chosen if value}
    kept = [shown.kept.get(("headline", run.run_id)) for run in found]
    return call.render(
        "runs.html",
        rows=rows,
        systems=systems,
        system=system,
        kinds=[(name, name == kind) for name in _KINDS] if traffic and others else [],
        search=search,
        is_first=not call.query.get("after"),
        next=f"/runs?{urlencode({**fields, 'after': found[-1].run_id})}" if more else None,
        first=f"/runs?{urlencode(fields)}",
        trends=_draw_trends(call.project, rows),
        limits=panels.list_limits(call.project),
        reading=_gather([run.run_id for run in found], kept, [], shown),
        **HELPERS,
    )


def _list_rows(store: Store, found: Sequence[FoundRun], shown: ReadyFigures) -> list[RunRow]:
    outcomes = list_outcomes(store, [run.run_id for run in found])
    rows = []
    for run in found:
        kept = shown.kept.get(("headline", run.run_id))
        value, problem = (kept.value, kept.problem) if kept else (None, None)
        rows.append(RunRow(run, value, problem, outcomes.get(run.run_id)))
    return rows


def _draw_trends(project: Project, rows: Sequence[RunRow]) -> list[tuple[str, Any]]:
    """Draw the rates of the listed runs over time, one chart per system with two runs or more."""
    by_system: dict[str, list[RunRow]] = {}
    for row in rows:
        by_system.setdefault(row.run.system, []).append(row)
    return [
        (system, panels.draw_headlines([(one.run, one.headline) for one in those], project))
        for system, those in by_system.items()
        if sum(one.headline is not None for one in those) > 1
    ]


# One run.


def show_run(call: Call) -> Response:
    """Show one run: the first screen about it, its groups, its claims, every metric, the method."""
    run_id = call.path["run_id"]
    check_run(call.store, run_id)
    asked = call.query.get("tab", "")
    tab = asked if asked in TABS else TABS[0]
    values = {
        "summary": _show_summary,
        "claims": _show_claims,
    }.get(tab, _show_report)(call, run_id)
    return call.render(
        f"run_{tab}.html",
        run_id=run_id,
        tab=tab,
        tabs=TABS,
        look=look_of,
        previous=find_previous_run(call.store, run_id),
        **values,
        **HELPERS,
    )


def _show_summary(call: Call, run_id: str) -> dict[str, Any]:
    since = find_previous_run(call.store, run_id)
    wanted = want_summary(call.project, run_id, since=since)
    shown = read_figures(call, [wanted])
    kept = shown.kept.get(wanted.key)
    reading = _gather([run_id], [kept], [], shown)
    summary = kept.value if kept else None
    return {
        "reading": reading,
        "summary": summary,
        "ship": answer_ship(summary) if summary else None,
    }


def _show_claims(call: Call, run_id: str) -> dict[str, Any]:
    """Return how a run's claims divide over the verdicts, and the worst of them."""
    judgement = choose_judgement(call.store, run_id)
    page = find_claims(
        call.store,
        ClaimFilter(run_id=run_id, judgement=judgement),
        limit=_MOST_CLAIMS,
        count=False,
    )
    counted = count_claims(call.store, run_id, judgement=judgement, labels="default")
    return {"page": page, "counted": counted, "total": sum(counted.values()), "reading": None}


def _show_report(call: Call, run_id: str) -> dict[str, Any]:
    reading = read_reports(call, [(run_id, None)])
    report = reading.runs[0].report
    if report is None:
        return {"reading": reading, "report": None}
    choices = panels.list_choices(report)
    metric = choose_metric(call, choices)
    return {
        "reading": reading,
        "report": report,
        "worst": sentences.describe_worst(report),
        "choices": choices,
        "metric": metric,
        "slices": panels.draw_slices(report, metric, most=24),
        "mix": panels.draw_mix(reading.runs),
        "quadrant": panels.draw_cells(report),
        "pair": panels.draw_pair(report),
        "measured": [table for table in report.tables if form.is_measured(table)],
        "unmeasured": sentences.describe_unmeasured(report.tables),
    }


def choose_metric(call: Call, choices: Sequence[panels.MetricChoice]) -> str:
    """Return the metric that was asked for, or the usual one."""
    asked = call.query.get("metric", "")
    return asked if asked in {choice.name for choice in choices} else DEFAULT_METRIC


def group_by_system(runs: Sequence[ListedRun]) -> dict[str, list[ListedRun]]:
    """Return runs by their system; the system with the latest run comes first."""
    found: dict[str, list[ListedRun]] = {}
    for run in runs:
        found.setdefault(run.system, []).append(run)
    return found


HELPERS: Final[dict[str, Any]] = {
    "say": sentences,
    "text": summary_text,
    "form": form,
    "panels": panels,
    "describe_trust": describe_trust,
    "describe_agreement": describe_agreement,
}

ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/runs", show_runs, "adjudicator"),
    PageRoute("GET", "/runs/{run_id:path}", show_run, "adjudicator"),
)
