"""What to do about an alarm: the claims behind it, incidents of the worst, a gate for next time."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from claimwise.claims.browse import ClaimFilter, ListedClaim, find_claims
from claimwise.claims.values import UNSCORED, UNSUPPORTED
from claimwise.config import Project
from claimwise.errors import InputError
from claimwise.gates import resolve_gate
from claimwise.gates.values import Gate
from claimwise.incidents.gate_backtest import find_catches
from claimwise.incidents.one_click import promote_answer
from claimwise.incidents.promotion import INCIDENT, ORIGIN
from claimwise.incidents.queries import read_incidents, read_stored_answer
from claimwise.incidents.values import Promotion
from claimwise.metrics import load_metrics
from claimwise.metrics.counting import list_attributes
from claimwise.monitoring.explain import advise, explain_alarm
from claimwise.monitoring.values import Alarm
from claimwise.store import Store

_MOST_RUNS = 14
_METRIC = "faithfulness"
_CAUTION = 0.02
_LOWEST, _HIGHEST = 0.05, 0.98


class GateProposal(msgspec.Struct, frozen=True, kw_only=True):
    """A gate to copy into ``claimwise.toml``, and what it would have done."""

    toml: str
    gate: str
    caught: tuple[str, ...]  # incidents that it marks down
    missed: tuple[str, ...]


class Runbook(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one alarm that helps whoever has to act."""

    alarm: Alarm
    explanation: tuple[str, ...]
    steps: tuple[str, ...]
    claims: tuple[ListedClaim, ...]
    proposals: tuple[GateProposal, ...] = ()
    promoted: tuple[Promotion, ...] = ()


def make_runbook(
    store: Store,
    project: Project,
    alarm: Alarm,
    *,
    anchors: str | None,
    limit: int = 10,
    promoted: Sequence[Promotion] = (),
) -> Runbook:
    """Gather what helps with an alarm; nothing is changed.

    Args:
        store: where it is.
        project: whose gates and metrics count.
        alarm: the alarm.
        anchors: the run of the anchors, where there is one.
        limit: how many claims to list, worst first.
        promoted: incidents that were opened for it just now.
    """
    return Runbook(
        alarm=alarm,
        explanation=tuple(explain_alarm(alarm)),
        steps=tuple(advise(alarm, anchors)),
        claims=tuple(list_alarm_claims(store, alarm, limit)),
        proposals=tuple(propose_gates(store, project, alarm)) if _is_about_rate(alarm) else (),
        promoted=tuple(promoted),
    )


def _is_about_rate(alarm: Alarm) -> bool:
    return alarm.signal in ("rate", "judge_rate")


def list_alarm_claims(store: Store, alarm: Alarm, limit: int) -> list[ListedClaim]:
    """Return the claims behind an alarm, worst first: of the runs of the days since the change."""
    verdicts = (UNSCORED,) if alarm.signal == "unscored" else UNSUPPORTED
    column, _, value = alarm.slice.partition("=")
    groups = ((column, value),) if value and alarm.signal != "judge" else ()
    wanted = ClaimFilter(verdicts=verdicts, groups=groups)
    return find_worst(store, alarm.evidence.runs[:_MOST_RUNS], wanted, limit)


def find_worst(
    store: Store, runs: Sequence[str], wanted: ClaimFilter, limit: int
) -> list[ListedClaim]:
    """Return the claims of several runs that a filter chooses, worst first."""
    found = [
        claim
        for run_id in runs
        for claim in find_claims(
            store, msgspec.structs.replace(wanted, run_id=run_id), limit=limit, count=False
        ).claims
    ]
    return sorted(found, key=lambda claim: claim.place)[:limit]


def open_incidents(
    store: Store,
    alarm: Alarm,
    *,
    who: str,
    count: int,
    answerable: bool,
    query_types: Sequence[str],
) -> list[Promotion]:
    """Make incidents, and so items of the test set, of the worst answers behind an alarm.

    The same answer twice changes nothing. A question that the test set asks already is left out:
    one item per question is enough.
    """
    answers = dict.fromkeys(
        (claim.run_id, claim.item_id, claim.sample)
        for claim in list_alarm_claims(store, alarm, limit=10 * count)
    )
    done: list[Promotion] = []
    for key in answers:
        stored = read_stored_answer(store, *key)
        if stored is None or len(done) == count:
            continue
        with suppress(InputError):
            done.append(
                promote_answer(
                    store, stored, who=who, answerable=answerable, query_types=query_types
                )
            )
    return done


def propose_gates(store: Store, project: Project, alarm: Alarm) -> list[GateProposal]:
    """Return gates that would have caught an alarm's answers, each tried on the incidents so far.

    One holds every run to the baseline that the alarm was measured against; the other holds the
    items that came from incidents, which is where a repetition shows first.
    """
    usual = alarm.evidence.baseline or 0.9
    least = round(min(_HIGHEST, max(_LOWEST, usual - _CAUTION)), 2)
    name = alarm.alarm_id
    gates = [
        Gate(metric=_METRIC, name=f"like-before-{name}", min=least),
        Gate(metric=_METRIC, name=f"not-again-{name}", min=least, where={ORIGIN: INCIDENT}),
    ]
    metrics = load_metrics(project.metrics_folder, project.citations)
    rules = [resolve_gate(gate, metrics, project.settings.labels) for gate in gates]
    with store.snapshot():
        rows, attributes = read_incidents(store), list_attributes(store)
    caught, _ = find_catches(rows, attributes, rules)
    own = [one for one in rows.incidents if _belongs(one.place, alarm)]
    proposals = []
    for gate in gates:
        hits = {key for key, catches in caught.items() if any(c.gate == gate.name for c in catches)}
        proposals.append(
            GateProposal(
                toml=write_gate(gate),
                gate=gate.name,
                caught=tuple(one.item_id for one in own if one.incident_id in hits),
                missed=tuple(one.item_id for one in own if one.incident_id not in hits),
            )
        )
    return proposals


def _belongs(place: str, alarm: Alarm) -> bool:
    """Return whether an incident's answer is of the runs behind an alarm."""
    return any(place.startswith(f"{run}/") for run in alarm.evidence.runs)


def write_gate(gate: Gate) -> str:
    """Return a gate as lines of ``claimwise.toml``."""
    lines = ["[[gates]]", f'name = "{gate.name}"', f'metric = "{gate.metric}"']
    if gate.where:
        shown = ", ".join(f'{name} = "{value}"' for name, value in gate.where.items())
        lines.append(f"where = {{ {shown} }}")
    return "\n".join([*lines, f"min = {gate.min:g}"])
