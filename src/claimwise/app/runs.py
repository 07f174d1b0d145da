"""The runs: a list with the figures of each, and one run whole."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from importlib.metadata import version
from typing import Any, Final, NamedTuple

from claimwise.app import panels
from claimwise.app.figures import ReadyFigures, Wanted, read_figures
from claimwise.app.panels import MeasuredRun
from claimwise.app.requests import Call, PageRoute, Refusal, Response, show_moment
from claimwise.config import Project
from claimwise.metrics import load_metrics
from claimwise.report import format as form
from claimwise.run_report import build_report, sentences, summary_text
from claimwise.run_report.sentences import describe_trust
from claimwise.run_report.values import Report
from claimwise.store import Store
from claimwise.store.runs import ListedRun, list_newest_runs

MOST_RUNS: Final = 30
DEFAULT_METRIC: Final = "faithfulness"


class RunReports(NamedTuple):
    """The reports of some runs as far as they are measured, and when that was."""

    runs: list[MeasuredRun]
    pending: list[str]
    problems: list[tuple[str, str]]  # run, and why it could not be measured
    oldest: datetime | None
    newest: datetime | None
    shown: ReadyFigures


def read_reports(call: Call, run_ids: Sequence[tuple[str, datetime | None]]) -> RunReports:
    """Return the reports of runs, measured now or a short while ago."""
    wanted = [want_report(call.project, run_id) for run_id, _ in run_ids]
    return gather_reports(run_ids, read_figures(call, wanted))


def want_report(project: Project, run_id: str) -> Wanted:
    """Return how to measure a run's report."""

    def measure(store: Store) -> Report:
        return build_report(
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
    """Return the reports of runs from the figures that there are."""
    runs, pending, problems = [], [], []
    made = []
    for run_id, started in run_ids:
        kept = shown.kept.get(("report", run_id))
        if kept is None:
            pending.append(run_id)
        elif kept.problem is not None:
            problems.append((run_id, kept.problem))
        else:
            made.append(kept.made_at)
        runs.append(MeasuredRun(run_id, show_moment(started), kept.value if kept else None))
    return RunReports(
        runs, pending, problems, min(made, default=None), max(made, default=None), shown
    )


def show_runs(call: Call) -> Response:
    """List the newest runs of every system with one metric of each."""
    listed = list_newest_runs(call.store, MOST_RUNS)
    reading = read_reports(call, [(run.run_id, run.started_at) for run in listed])
    by_id = {run.run_id: run for run in reading.runs}
    newest = next((run.report for run in reading.runs if run.report), None)
    choices = panels.list_choices(newest) if newest else []
    metric = choose_metric(call, choices)
    return call.render(
        "runs.html",
        systems=[
            (system, runs, panels.draw_trends([by_id[run.run_id] for run in runs], metric))
            for system, runs in group_by_system(listed).items()
        ],
        most=MOST_RUNS,
        choices=choices,
        metric=metric,
        reading=reading,
        **HELPERS,
    )


def show_run(call: Call) -> Response:
    """Show one run: what is worst and how sure that is, then every metric of its report."""
    run_id = call.path["run_id"]
    known = call.store.query("select system from runs where run_id = :run_id", {"run_id": run_id})
    if not known:
        raise Refusal(404, "There is no such run; the list of runs has them all.")
    reading = read_reports(call, [(run_id, None)])
    report = reading.runs[0].report
    if report is None:
        return call.render("run.html", run_id=run_id, reading=reading, report=None, **HELPERS)
    choices = panels.list_choices(report)
    metric = choose_metric(call, choices)
    return call.render(
        "run.html",
        run_id=run_id,
        reading=reading,
        report=report,
        worst=sentences.describe_worst(report),
        choices=choices,
        metric=metric,
        slices=panels.draw_slices(report, metric, most=24),
        mix=panels.draw_mix(reading.runs),
        quadrant=panels.draw_cells(report),
        pair=panels.draw_pair(report),
        measured=[table for table in report.tables if form.is_measured(table)],
        unmeasured=sentences.describe_unmeasured(report.tables),
        **HELPERS,
    )


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
}

ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/runs", show_runs, "adjudicator"),
    PageRoute("GET", "/runs/{run_id:path}", show_run, "adjudicator"),
)
