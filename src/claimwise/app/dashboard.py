"""The overview: can we ship, the rate and how it moved, the worst of it, and what is to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from time import monotonic
from typing import Any, Final, NamedTuple

from claimwise.agreement.people import measure_people
from claimwise.agreement.values import Agreement
from claimwise.app import panels
from claimwise.app.claims import look_of
from claimwise.app.figures import Kept, Wanted, read_figures
from claimwise.app.requests import Call, PageRoute, Response
from claimwise.app.runs import (
    HELPERS,
    MOST_RUNS,
    RunReports,
    choose_metric,
    gather_reports,
    group_by_system,
    want_reports,
)
from claimwise.app.summaries import answer_ship, want_summary
from claimwise.calibration.queries import list_calibrations, name_calibrated_slice
from claimwise.calibration.values import CalibrationStatus
from claimwise.config import Project
from claimwise.incidents.queries import list_incident_progress, list_queue
from claimwise.labelling.desk import count_disputes
from claimwise.labelling.queue import list_rounds, read_progress
from claimwise.labelling.values import Progress, Round
from claimwise.report import format as form
from claimwise.run_report.summary_text import suggest_next
from claimwise.run_report.values import Summary
from claimwise.store import Store
from claimwise.store.runs import ListedRun, list_newest_runs

_MOST_ROUNDS: Final = 4
_MOST_BARS: Final = 8
_CHECKS: Final[dict[CalibrationStatus, str]] = {
    "unknown": "Label more claims to know how far to trust {}, then check it again",
    "expired": "Check {} again: its calibration has expired",
}


class RoundTile(NamedTuple):
    """An open round and how far it is."""

    round: Round
    progress: Progress


class CalibrationTile(NamedTuple):
    """Where a judge stands."""

    calibration_id: str
    labeler: str
    where: str
    standing: CalibrationStatus
    until: str


class Waiting(NamedTuple):
    """What waits for someone to do it."""

    incidents: int
    need_spans: int
    disputes: int
    queue: dict[str, int]


class ToDo(NamedTuple):
    """Something to do, and where it is done: a page, or a command."""

    what: str
    link: str | None = None
    link_text: str = ""
    command: str | None = None


class Overview(NamedTuple):
    """The figures of one system's overview, as far as they are measured."""

    reading: RunReports
    summary: Summary | None
    problem: str | None  # why the newest run has no summary
    people: Kept | None


def show_dashboard(call: Call) -> Response:
    """Show the overview. Labelers see no verdicts before they have given theirs: they label."""
    if not call.allows("adjudicator"):
        return call.redirect("/label")
    started = monotonic()
    by_system = group_by_system(list_newest_runs(call.store, MOST_RUNS))
    waiting = _count_waiting(call)
    tiles: dict[str, Any] = {
        "rounds": _list_rounds(call),
        "calibrations": _list_calibrations(call),
        "waiting": waiting,
    }
    if not by_system:
        return call.render("dashboard.html", reading=None, **tiles, **HELPERS)
    asked = call.query.get("system", "")
    system = asked if asked in by_system else next(iter(by_system))
    runs = by_system[system]
    baseline = choose_baseline(call.query.get("baseline", ""), runs)
    found = read_overview(call, runs, baseline, monotonic() - started)
    report = found.reading.runs[0].report
    choices = panels.list_choices(report) if report else []
    metric = choose_metric(call, choices)
    return call.render(
        "dashboard.html",
        **show_overview(found, runs, baseline),
        most=MOST_RUNS,
        report=report,
        agreement=found.people.value if found.people else None,
        agreement_problem=found.people.problem if found.people else "it is being calculated",
        todo=list(_list_tasks(found.summary, runs[0].run_id, waiting, tiles["calibrations"])),
        systems=list(by_system),
        system=system,
        choices=choices,
        metric=metric,
        trends=panels.draw_trends(
            found.reading.runs, metric, panels.list_limits(call.project, metric)
        ),
        limits=panels.list_limits(call.project, metric),
        slices=panels.draw_slices(report, metric) if report else [],
        mix=panels.draw_mix(found.reading.runs[:_MOST_BARS]),
        quadrant=panels.draw_cells(report) if report else None,
        pair=panels.draw_pair(report) if report else None,
        **tiles,
        **HELPERS,
    )


def choose_baseline(asked: str, runs: Sequence[ListedRun]) -> str | None:
    """Return the run that someone chose to compare the newest with; None for the one before it."""
    return asked if asked in {run.run_id for run in runs[1:]} else None


def show_overview(
    found: Overview, runs: Sequence[ListedRun], baseline: str | None
) -> dict[str, Any]:
    """Return what the first screen of the overview shows, whoever looks at it."""
    return {
        "reading": found.reading,
        "newest": runs[0],
        "earlier": runs[1:],
        "baseline": baseline or (runs[1].run_id if len(runs) > 1 else None),
        "summary": found.summary,
        "summary_problem": found.problem,
        "ship": answer_ship(found.summary) if found.summary else None,
        "look": look_of,
    }


def read_overview(
    call: Call, runs: Sequence[ListedRun], baseline: str | None, spent: float
) -> Overview:
    """Return the figures of a system's overview: one wait for them all.

    What the page begins with is measured first: the newest run, and how far people agree on it.
    """
    newest = runs[0].run_id
    since = baseline or (runs[1].run_id if len(runs) > 1 else None)
    first = want_summary(call.project, newest, baseline=baseline, since=since)
    people = want_agreement(call.project, newest)
    reports = want_reports(call.project, [run.run_id for run in runs])
    shown = read_figures(call, [first, people, *reports], spent=spent)
    kept = shown.kept.get(first.key)
    times = [one.made_at for one in shown.kept.values() if one.problem is None]
    reading = gather_reports([(run.run_id, run.started_at) for run in runs], shown)
    return Overview(
        reading._replace(oldest=min(times, default=None), newest=max(times, default=None)),
        kept.value if kept else None,
        kept.problem if kept else None,
        shown.kept.get(people.key),
    )


def want_agreement(project: Project, run_id: str) -> Wanted:
    """Return how to measure how far people agree on a run's claims."""
    settings = project.settings

    def measure(store: Store) -> Agreement:
        return measure_people(
            store, run_id, confidence=settings.confidence, cluster=settings.cluster
        )

    return Wanted(("agreement", run_id), run_id, measure)


def _list_tasks(
    summary: Summary | None,
    run_id: str,
    waiting: Waiting,
    calibrations: Sequence[CalibrationTile],
) -> Iterator[ToDo]:
    """Yield what would help most, and what waits for a decision."""
    step = suggest_next(summary.headline, run_id) if summary else None
    if step and summary and summary.headline.basis is None:
        yield ToDo(step[0], command=step[1])
    elif step:
        told = f"{step[0][:1].lower()}{step[0][1:]}"
        yield ToDo(f"Make the rate more certain: {told}", command=step[1])
    if waiting.disputes:
        disputes = form.pluralize(waiting.disputes, "dispute")
        yield ToDo(f"{disputes} between labelers to decide", "/adjudicate", "Decide disputes")
    for task, count in waiting.queue.items():
        if task == "gold_spans":
            items = form.pluralize(count, "item")
            yield ToDo(f"{items} without gold spans", "/gold-spans", "Add gold spans")
        else:
            claims = form.pluralize(count, "claim")
            yield ToDo(f"{claims} of incidents to label", "/incidents", "See incidents")
    for one in calibrations:
        if one.standing in _CHECKS:
            told = _CHECKS[one.standing].format(form.clean(one.labeler))
            yield ToDo(told, "/calibrations", "Check judges")


def _list_rounds(call: Call) -> list[RoundTile]:
    newest = sorted(
        list_rounds(call.store, open_only=True), key=lambda one: one.created_at, reverse=True
    )
    return [
        RoundTile(one, read_progress(call.store, one.round_id, call.now))
        for one in newest[:_MOST_ROUNDS]
    ]


def _list_calibrations(call: Call) -> list[CalibrationTile]:
    return [
        CalibrationTile(
            one.calibration_id,
            one.labeler,
            name_calibrated_slice(one.slice),
            one.stand(call.now),
            f"{one.expires_at:%Y-%m-%d}",
        )
        for one in list_calibrations(call.store)
        if not one.slice
    ]


def _count_waiting(call: Call) -> Waiting:
    standings = list_incident_progress(call.store)
    return Waiting(
        incidents=len(standings),
        need_spans=sum(one.state == "needs spans" for one in standings),
        disputes=sum(
            count_disputes(call.store, one).open for one in list_rounds(call.store, open_only=True)
        ),
        queue=dict(Counter(entry.task for entry in list_queue(call.store))),
    )


ROUTES: tuple[PageRoute, ...] = (PageRoute("GET", "/", show_dashboard, "labeler"),)
