"""The funnel: how many answers came in, and what became of every one of them.

Received = sampled + left out + unreadable. Sampled = scored + partly scored + unscored + without
claims + failed + expired (its text was deleted before anyone judged it) + not judged yet. Claims =
scored + unscored by reason + waiting.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from typing import Any

from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.traffic.values import RECEIVED

_SQL = SqlFolder("claimwise.traffic")
NOT_JUDGED = "not_judged"
STATES = ("scored", "partly_scored", "unscored", "no_claims", "failed", "expired", "open")
_JUDGED = ("scored", "partly_scored", "unscored", "no_claims")
_FIRST, _LAST = date(1, 1, 1), date(9998, 12, 31)


@dataclass(frozen=True, kw_only=True, slots=True)
class SystemFunnel:
    """The counts of one system."""

    system: str
    outcomes: dict[str, int]
    unreadable: dict[str, int]  # by reason
    rejected: dict[str, int]  # by reason: spans and requests that are part of no answer
    notes: dict[str, int]  # by reason: stored answers with something to know about them
    states: dict[str, int]  # of what is stored
    rules: dict[str, dict[str, int]]  # by sampling rule: sampled and left out
    claims: dict[str, int] = field(default_factory=dict)  # by reason; "": scored

    @property
    def received(self) -> int:
        """How many answers came in, each counted once."""
        return sum(self.outcomes.get(name, 0) for name in RECEIVED)

    @property
    def sampled(self) -> int:
        """How many of them were stored."""
        return self.outcomes.get("sampled", 0)

    @property
    def judged(self) -> int:
        """How many of those a judge has been through."""
        return sum(self.states.get(name, 0) for name in _JUDGED)

    @property
    def adds_up(self) -> bool:
        """Whether every answer that was counted as stored is there, and the other way round."""
        return sum(self.states.values()) == self.sampled

    def to_document(self) -> dict[str, Any]:
        """Return the counts as plain values for JSON."""
        unscored = {name: n for name, n in self.claims.items() if name not in ("", NOT_JUDGED)}
        return {
            "system": self.system,
            "received": self.received,
            "duplicates": self.outcomes.get("duplicate", 0),
            "left_out": self.outcomes.get("left_out", 0),
            "unreadable": {
                "answers": self.outcomes.get("unreadable", 0),
                "reasons": self.unreadable,
            },
            "sampled": self.sampled,
            "judged": self.judged,
            "answers": {name: self.states.get(name, 0) for name in STATES},
            "claims": {
                "scored": self.claims.get("", 0),
                "unscored": unscored,
                "waiting": self.claims.get(NOT_JUDGED, 0),
            },
            "rules": self.rules,
            "notes": self.notes,
            "rejected": self.rejected,
            "adds_up": self.adds_up,
        }


def read_funnel(
    store: Store, *, first: date | None = None, last: date | None = None
) -> list[SystemFunnel]:
    """Return the funnel of every system, over the answers of some UTC days or of all."""
    days = {"first": first or _FIRST, "last": last or _LAST}
    moments = {
        "first": datetime.combine(days["first"], time()),
        "after": datetime.combine(days["last"] + timedelta(days=1), time()),
    }
    with store.snapshot():
        counted = store.query(_SQL["funnel_counts"], days)
        judged = store.query(_SQL["funnel_judged"], moments)
        claims = store.query(_SQL["funnel_claims"], moments)
    systems = dict.fromkeys(row[0] for row in [*counted, *judged])
    return [_gather(name, counted, judged, claims) for name in systems]


def _gather(
    system: str,
    counted: Sequence[tuple[Any, ...]],
    judged: Sequence[tuple[Any, ...]],
    claims: Sequence[tuple[Any, ...]],
) -> SystemFunnel:
    outcomes: Counter[str] = Counter()
    reasons: dict[str, Counter[str]] = {
        name: Counter() for name in ("unreadable", "note", "rejected")
    }
    rules: dict[str, dict[str, int]] = {}
    for name, rule, outcome, reason, answers in counted:
        if name != system:
            continue
        outcomes[outcome] += int(answers)
        if outcome in reasons:
            reasons[outcome][reason] += int(answers)
        if outcome in ("sampled", "left_out"):
            rules.setdefault(rule, {"sampled": 0, "left_out": 0})[outcome] += int(answers)
    states: Counter[str] = Counter()
    for name, _, state, answers in judged:
        states[state] += int(answers) if name == system else 0
    return SystemFunnel(
        system=system,
        outcomes=dict(outcomes),
        unreadable=dict(reasons["unreadable"].most_common()),
        rejected=dict(reasons["rejected"].most_common()),
        notes=dict(reasons["note"].most_common()),
        states={name: number for name, number in states.items() if number},
        rules=rules,
        claims={reason: int(number) for name, reason, number in claims if name == system},
    )
