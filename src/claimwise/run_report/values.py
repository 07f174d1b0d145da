"""What a report of one run holds, before it is written in any format."""

from __future__ import annotations

from dataclasses import dataclass, field

from claimwise.calibration.headline import Headline
from claimwise.calibration.headline_change import HeadlineChange
from claimwise.calibration.values import CorrectedRate, RunProbabilities
from claimwise.claims.values import ClaimRow
from claimwise.gates.values import GateReport
from claimwise.types.results import Estimate, JudgeNote, JudgeSummary, MetricTable, Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class Worst:
    """The worst slice of a metric, which a report leads with."""

    estimate: Estimate
    overall: float | None
    stands_out: bool  # its simultaneous interval excludes the overall rate


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Everything a report shows of one run, before it is written in any format."""

    run: dict[str, str | None]
    store: str
    version: str
    by: tuple[str, ...]
    settings: Settings
    worst: tuple[Worst, ...]
    tables: tuple[MetricTable, ...]
    instruments: tuple[JudgeSummary, ...]
    unscored: tuple[Estimate, ...]
    answers_without_claims: int
    failed_answers: int
    headline: Headline
    judges: tuple[JudgeNote, ...] = ()  # who gave verdicts that its rates count
    warnings: tuple[str, ...] = field(default=())
    corrected: tuple[CorrectedRate, ...] = ()  # rates by a round of people's labels
    probabilities: tuple[RunProbabilities, ...] = ()  # of instruments that were calibrated


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """A part of a run and its rate, on the basis of the run's headline."""

    slice: dict[str, str | None]
    rate: float
    overall: (
        float  # the whole run's, by the same labels: where those are corrected, not its headline
    )
    low: float | None  # adjusted for all groups that were compared
    high: float | None
    items: int
    claims: int
    clearly_worse: bool  # the range lies below the whole run's rate
    judged: bool = False  # by a judge alone, whose own error is not in the range


@dataclass(frozen=True, kw_only=True, slots=True)
class Summary:
    """What fits on one screen about a run."""

    run: dict[str, str | None]
    latest: bool  # whether it is the run that commands choose by themselves
    headline: Headline
    change: HeadlineChange | None  # None: there is no earlier run of the system
    gates: GateReport | None  # None: the project has none
    gate_problem: str | None  # why gates could not be applied
    groups: tuple[Group, ...]  # worst first
    claims: tuple[ClaimRow, ...]  # worst first
    errors: tuple[tuple[str, int], ...]  # verdict other than supported, claims in all; worst first
    unscored: tuple[tuple[str, int], ...]  # reason, claims
    failed_answers: int
    answers_without_claims: int
    judges: tuple[JudgeNote, ...]  # the headline's own first, then by claims
    warnings: tuple[str, ...] = ()
    compared: int = 0  # groups that were large enough to compare
    store: str | None = None  # what commands name with --store, if it isn't the project's
    writable: bool = True  # whether people can label there

    @property
    def unsupported(self) -> int:
        """Claims in all that are not supported."""
        return sum(count for _, count in self.errors)
