"""The gates: what each says of a run and why, and what they said before."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from claimwise.app.figures import read_figures
from claimwise.app.links import link_claims, link_group
from claimwise.app.rate_links import link_rate
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.app.run_choice import choose_run
from claimwise.app.summaries import answer_ship, want_summary
from claimwise.claims.values import VERDICT_NAMES
from claimwise.errors import ConfigError
from claimwise.gates import report as words
from claimwise.gates.history import find_event, list_latest
from claimwise.gates.settings import read_gates
from claimwise.gates.values import GateDecision, SliceDecision
from claimwise.report import format as form
from claimwise.store.runs import find_previous_run

_MOST_EVENTS: Final = 100
OUTCOMES: Final = {
    "pass": ("✓", "passed", "good"),
    "fail": ("✗", "failed", "bad"),
    "inconclusive": ("?", "inconclusive", "warn"),
}


def show_gates(call: Call) -> Response:
    """Show what the project's gates say of a run now, and what they said when they were applied."""
    run_id, offered = choose_run(call)
    values: dict[str, Any] = {"shown": None, "kept": None, "ship": None}
    if run_id is not None:
        since = find_previous_run(call.store, run_id)
        wanted = want_summary(call.project, run_id, since=since)
        shown = read_figures(call, [wanted])
        kept = shown.kept.get(wanted.key)
        values = {
            "shown": shown,
            "kept": kept,
            "ship": answer_ship(kept.value) if kept and kept.value else None,
        }
    return call.render(
        "gates.html",
        run_id=run_id,
        offered=offered,
        problem=_find_problem(call),
        events=list_latest(call.store, limit=_MOST_EVENTS),
        **values,
        **_HELPERS,
    )


def show_event(call: Call) -> Response:
    """Show one result as it was kept."""
    event = find_event(call.store, call.path["event_id"])
    if event is None:
        raise Refusal(404, "There is no such result of a gate.")
    try:
        decision = msgspec.convert(event.decision, GateDecision)
    except msgspec.ValidationError:  # of a version that decided otherwise
        decision = None
    return call.render("gate_event.html", event=event, decision=decision, **_HELPERS)


def link_slice(decision: GateDecision, found: SliceDecision) -> str:
    """Return where the claims, or else the items, of a gate's slice are."""
    group = {**decision.gate.where, **found.slice}
    member = decision.gate.member
    listed = None
    if member in VERDICT_NAMES and group:
        listed = link_group(decision.run_id, group, verdict=member)
    elif member in VERDICT_NAMES:
        listed = link_claims(run=decision.run_id, verdict=member)
    return listed or link_rate(decision.run_id, decision.gate.metric, member, group)


def _find_problem(call: Call) -> str | None:
    try:
        read_gates(call.project)
    except ConfigError as error:
        return str(error)
    return None


_HELPERS: Final[dict[str, Any]] = {
    "form": form,
    "words": words,
    "outcomes": OUTCOMES,
    "link_slice": link_slice,
}

ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/gates", show_gates, "adjudicator"),
    PageRoute("GET", "/gates/{event_id}", show_event, "adjudicator"),
)
