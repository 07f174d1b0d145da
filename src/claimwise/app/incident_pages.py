"""The incidents: wrong answers from production, and how far each is from never happening again."""

from __future__ import annotations

from typing import Final, Literal, NamedTuple
from urllib.parse import urlencode

from claimwise.app.figures import Wanted, read_figures
from claimwise.app.requests import Call, PageRoute, Response
from claimwise.config import Project
from claimwise.incidents.gate_backtest import list_incidents
from claimwise.incidents.queries import read_incident_state
from claimwise.incidents.values import Catch, IncidentStatus
from claimwise.report import format as form
from claimwise.store import Store

Stage = Literal["open", "labelled", "in_tests", "caught"]
STAGES: Final[dict[Stage, tuple[str, str]]] = {
    "open": ("Open", "labels or gold spans are missing"),
    "labelled": ("Labelled", "not asked in a run yet"),
    "in_tests": ("In tests", "asked in a run, but no gate would catch it"),
    "caught": ("Caught by a gate", "a gate would mark it down if it happened again"),
}


class ShownIncident(NamedTuple):
    """An incident as the page shows it."""

    status: IncidentStatus
    stage: Stage
    next_step: str
    next_link: str | None
    answer: str | None  # the wrong answer's own page
    asked: str | None  # the answer of the latest run to the same question
    caught: str


def show_incidents(call: Call) -> Response:
    """List incidents by how far they are, the latest first."""
    wanted = want_incidents(call.project)
    shown = read_figures(call, [wanted])
    kept = shown.kept.get(wanted.key)
    found, warnings = kept.value if kept and kept.value else ([], [])
    rows = [_show(status) for status in found]
    asked = call.query.get("stage", "")
    return call.render(
        "incidents.html",
        shown=shown,
        kept=kept,
        warnings=warnings,
        stages=STAGES,
        stage=asked if asked in STAGES else None,
        counts={stage: sum(row.stage == stage for row in rows) for stage in STAGES},
        total=len(rows),
        rows=[row for row in rows if asked not in STAGES or row.stage == asked],
        form=form,
    )


def want_incidents(project: Project) -> Wanted:
    """Return how to find all incidents, and the gates that would catch each."""

    def measure(store: Store) -> tuple[list[IncidentStatus], list[str]]:
        return list_incidents(store, project)

    return Wanted(("incidents",), "", measure, read_state=read_incident_state)


def find_stage(status: IncidentStatus) -> Stage:
    """Return how far an incident is: the last step before the first that is missing."""
    if status.state != "ready" or status.unscored:
        return "open"
    if status.asked_in is None:
        return "labelled"
    return "caught" if status.caught_by else "in_tests"


def _show(status: IncidentStatus) -> ShownIncident:
    incident = status.incident
    step, link = _find_next(status)
    parts = incident.place.rsplit("/", 2) if incident.origin == "answer" else []
    return ShownIncident(
        status,
        find_stage(status),
        step,
        link,
        _link_answer(*parts) if len(parts) == 3 else None,
        _link_answer(status.asked_in, incident.item_id, "0") if status.asked_in else None,
        ", ".join(map(_name_catch, status.caught_by)),
    )


def _find_next(status: IncidentStatus) -> tuple[str, str | None]:
    """Say what to do next, and where."""
    if status.state != "ready":
        return "Add gold spans", "/gold-spans"
    if status.unscored:
        return f"Label {form.pluralize(status.unscored, 'claim')}", "/label"
    if status.asked_in is None:
        return "Ask it in your next run", None
    return ("", None) if status.caught_by else ("Add a gate that counts it", "/gates")


def _link_answer(run_id: str, item_id: str, sample: str) -> str:
    return f"/answers?{urlencode({'run': run_id, 'item': item_id, 'sample': sample})}"


def _name_catch(catch: Catch) -> str:
    values = ", ".join(form.clean_value(value) for value in catch.slice.values())
    return form.clean(f"{catch.gate} ({values})" if values else catch.gate)


ROUTES: tuple[PageRoute, ...] = (PageRoute("GET", "/incidents", show_incidents, "adjudicator"),)
