"""The overview: what is worst, how sure that is, and what people and instruments are up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
    want_report,
)
from claimwise.calibration.queries import list_calibrations, name_calibrated_slice
from claimwise.calibration.values import Standing
from claimwise.claims.browse import ClaimFilter, ListedClaim, find_claims
from claimwise.claims.queries import choose_judgement
from claimwise.claims.values import UNSUPPORTED
from claimwise.config import Project
from claimwise.incidents.queries import list_queue, list_standings
from claimwise.labelling.desk import count_disputes
from claimwise.labelling.queue import list_rounds, read_progress
from claimwise.labelling.values import Progress, Round
from claimwise.run_report import sentences
from claimwise.store import Store
from claimwise.store.runs import ListedRun, list_newest_runs

_MOST_ROUNDS: Final = 4
_MOST_BARS: Final = 8
_MOST_CLAIMS: Final = 5


class RoundTile(NamedTuple):
    """An open round and how far it is."""

    round: Round
    progress: Progress


class CalibrationTile(NamedTuple):
    """Where an instrument stands in a slice."""

    calibration_id: str
    labeler: str
    where: str
    standing: Standing
    until: str


class Waiting(NamedTuple):
    """What waits for someone to do it."""

    incidents: int
    need_spans: int
    disputes: int
    queue: dict[str, int]


def show_dashboard(call: Call) -> Response:
    """Show the overview. Labelers see no verdicts before they have given theirs: they label."""
    if not call.allows("adjudicator"):
        return call.redirect("/label")
    started = monotonic()
    by_system = group_by_system(list_newest_runs(call.store, MOST_RUNS))
    tiles: dict[str, Any] = {
        "rounds": _list_rounds(call),
        "calibrations": _list_calibrations(call),
        "waiting": _count_waiting(call),
    }
    if not by_system:
        return call.render("dashboard.html", reading=None, **tiles, **HELPERS)
    asked = call.query.get("system", "")
    system = asked if asked in by_system else next(iter(by_system))
    runs = by_system[system]
    reading, people = _read_figures(call, runs, monotonic() - started)
    report = reading.runs[0].report
    choices = panels.list_choices(report) if report else []
    metric = choose_metric(call, choices)
    return call.render(
        "dashboard.html",
        reading=reading,
        newest=runs[0],
        most=MOST_RUNS,
        report=report,
        agreement=people.value if people else None,
        agreement_problem=people.problem if people else "it is being calculated",
        worst=sentences.describe_worst(report) if report else [],
        worst_claims=_list_worst_claims(call.store, runs[0].run_id),
        look=look_of,
        systems=list(by_system),
        system=system,
        choices=choices,
        metric=metric,
        trends=panels.draw_trends(reading.runs, metric),
        slices=panels.draw_slices(report, metric) if report else [],
        mix=panels.draw_mix(reading.runs[:_MOST_BARS]),
        quadrant=panels.draw_cells(report) if report else None,
        pair=panels.draw_pair(report) if report else None,
        **tiles,
        **HELPERS,
    )


def _read_figures(
    call: Call, runs: Sequence[ListedRun], spent: float
) -> tuple[RunReports, Kept | None]:
    """Return the reports of runs and how far people agree on the newest: one wait for them all.

    What is said of the newest run is measured first: it is what the page begins with.
    """
    newest = want_agreement(call.project, runs[0].run_id)
    first, *others = (want_report(call.project, run.run_id) for run in runs)
    shown = read_figures(call, [first, newest, *others], spent=spent)
    reading = gather_reports([(run.run_id, run.started_at) for run in runs], shown)
    return reading, shown.kept.get(newest.key)


def want_agreement(project: Project, run_id: str) -> Wanted:
    """Return how to measure how far people agree on a run's claims."""
    settings = project.settings

    def measure(store: Store) -> Agreement:
        return measure_people(
            store, run_id, confidence=settings.confidence, cluster=settings.cluster
        )

    return Wanted(("agreement", run_id), run_id, measure)


def _list_worst_claims(store: Store, run_id: str) -> list[ListedClaim]:
    """Return the claims of a run that are not supported, the worst and most certain ones."""
    wanted = ClaimFilter(
        run_id=run_id, judgement=choose_judgement(store, run_id), verdicts=UNSUPPORTED
    )
    return find_claims(store, wanted, limit=_MOST_CLAIMS, count=False).claims


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
    standings = list_standings(call.store)
    return Waiting(
        incidents=len(standings),
        need_spans=sum(one.state == "needs spans" for one in standings),
        disputes=sum(
            count_disputes(call.store, one).open for one in list_rounds(call.store, open_only=True)
        ),
        queue=dict(Counter(entry.task for entry in list_queue(call.store))),
    )


ROUTES: tuple[PageRoute, ...] = (PageRoute("GET", "/", show_dashboard, "labeler"),)
