"""Gates: the rule that a project writes down, and what became of it.

A rule is absolute (a rate must be at least ``min``, or at most ``max``) or relative (a rate must
not be worse than in a ``baseline`` run by more than ``margin``). A decision is made per slice and
has three outcomes; what can't be told is inconclusive, and never a pass.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any, Literal

import msgspec

from claimwise.types.results import Weighting

Outcome = Literal["pass", "fail", "inconclusive"]

PASSED = 0
FAILED = 2
INCONCLUSIVE = 3
"""Exit codes; 1 is “could not run”."""


class Gate(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One ``[[gates]]`` table of ``claimwise.toml``."""

    metric: str
    name: str = ""  # without one, made of metric, member and slices
    member: str | None = None  # of a metric with a series: contradicted, of verdict_shares
    by: tuple[str, ...] = ()  # every slice must pass; without, the whole run
    where: dict[str, str] = {}  # only items with these values
    min: float | None = None
    max: float | None = None
    baseline: str | None = None  # a run, or "previous"
    margin: float | None = None  # the drop that is tolerated; see DEFAULT_MARGIN
    # With baseline = "previous": the earlier run that many small drops together are held against.
    anchor: str = "best"  # of the earlier runs; or a run, or "none"
    confidence: float = 0.95
    looks: int = 1  # how often the gate will be applied; its fails hold over all of them together
    # Instead of looks: how often a year it is applied, and may fail a system that is at its limit.
    looks_per_year: float | None = None
    false_alarms_per_year: float | None = None
    min_items: int = 2  # a slice with fewer is inconclusive
    labels: str | None = None  # which may decide; else the project's
    min_agreement: float = 0.8  # 0 takes a judge's verdicts for the truth, unmeasured
    # A calibration decides first, is the only thing that may, or decides nothing.
    calibration: Literal["use", "require", "ignore"] = "use"
    on_inconclusive: Literal["fail", "warn"] = "fail"

    @property
    def relative(self) -> bool:
        """Whether the rule compares with a baseline."""
        return self.baseline is not None

    @property
    def tolerance(self) -> float:
        """The tolerated drop of a relative gate."""
        return DEFAULT_MARGIN if self.margin is None else self.margin

    @property
    def limit(self) -> float:
        """The limit of an absolute gate."""
        return (self.min if self.min is not None else self.max) or 0.0

    @property
    def look_error(self) -> float:
        """The error that one look may spend on failing; never more than a single look may."""
        alone = 1 - self.confidence
        if self.looks_per_year is None or self.false_alarms_per_year is None:
            return alone / self.looks
        return min(alone, self.false_alarms_per_year / self.looks_per_year)

    @property
    def spares(self) -> bool:
        """Whether one look spends less than the gate's whole error."""
        return self.look_error < 1 - self.confidence


DEFAULT_MARGIN = 0.05


class SliceDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one slice.

    ``low`` and ``high`` are one-sided bounds of ``rate`` or, with a baseline, of ``change``, that
    already allow for whatever was not scored: the side that passes at the gate's confidence, the
    side that fails at the simultaneous one. They are None where nothing was measured.
    """

    slice: dict[str, str | None]
    outcome: Outcome
    reason: str
    rate: float | None
    low: float | None
    high: float | None
    items: int
    units: int
    unscored: int
    # Units that a judge judged which may decide nothing: nobody knows its error on such items.
    untrusted: int = 0
    # What the rate and its bounds rest on; None: no judge plays a part.
    basis: Literal["people", "corrected", "judge_only"] | None = None
    baseline_rate: float | None = None
    change: float | None = None
    # About how many more items would decide, if the rate stayed; None: not that kind of doubt.
    more_items: int | None = None
    # Items of the slice that only one of the two runs has.
    unpaired: int = 0
    # The drop below the limit (or the baseline) that one look fails four times in five.
    detectable: float | None = None


class Twin(msgspec.Struct, frozen=True, kw_only=True):
    """The other half of the abstention pair, on the same items: it decides nothing.

    A system that never abstains has no over-refusal, and one that always does has perfect correct
    abstention; only together do the two say something. Without a rate nothing was measured.
    """

    member: str
    rate: float | None
    low: float | None
    high: float | None
    items: int
    units: int


class GateDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a gate: it fails if a slice fails, and passes if all pass."""

    gate: Gate
    title: str  # of the metric
    unit: str
    better: Literal["higher", "lower"]
    rule: str  # in words: "at least 0.9 in every query_type"
    run_id: str
    baseline_id: str | None
    outcome: Outcome
    pass_confidence: float
    fail_confidence: float  # of each slice, so that all hold together
    slices: tuple[SliceDecision, ...]  # what fails first
    notes: tuple[str, ...] = ()
    anchor_id: str | None = None  # the run that a slow slide was held against
    twin: Twin | None = None  # of a gate on one half of the abstention pair without the other
    power: str | None = None  # what one look finds, of a gate that compares or looks often
    weighting: Weighting | None = None  # None: all items count alike

    @property
    def blocks(self) -> bool:
        """Whether the outcome stops a build."""
        return self.outcome == "fail" or (
            self.outcome == "inconclusive" and self.gate.on_inconclusive == "fail"
        )


class GateReport(msgspec.Struct, frozen=True, kw_only=True):
    """All gates of a project on one run."""

    run_id: str
    store: str
    version: str
    gates: tuple[GateDecision, ...]

    @property
    def outcome(self) -> Outcome:
        """The worst outcome of the gates, those that only warn included."""
        found = {decision.outcome for decision in self.gates}
        worst: tuple[Outcome, ...] = ("fail", "inconclusive")
        return next((outcome for outcome in worst if outcome in found), "pass")

    @property
    def exit_code(self) -> int:
        """0 pass, 2 failed, 3 inconclusive; an inconclusive gate that only warns is a pass."""
        blocking = {decision.outcome for decision in self.gates if decision.blocks}
        if "fail" in blocking:
            return FAILED
        return INCONCLUSIVE if blocking else PASSED


class GateEvent(msgspec.Struct, frozen=True, kw_only=True):
    """One gate as it was applied once, kept for good.

    ``inputs`` is what it was decided by: the gate's settings as they were, the metric and the
    digest of its SQL, which labels decided. ``decision`` is the `GateDecision` of that moment.
    """

    event_id: str
    decided_at: datetime
    gate: str
    run_id: str
    baseline_id: str | None
    outcome: Outcome
    blocks: bool
    version: str
    inputs: dict[str, Any]
    decision: dict[str, Any]
