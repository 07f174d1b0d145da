"""What a report of one run holds, before it is written in any format."""

from __future__ import annotations

from dataclasses import dataclass, field

from claimwise.calibration.values import CorrectedRate, RunProbabilities
from claimwise.types.results import Estimate, JudgeSummary, MetricTable, Settings


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
    warnings: tuple[str, ...] = field(default=())
    corrected: tuple[CorrectedRate, ...] = ()  # rates by a round of people's labels
    probabilities: tuple[RunProbabilities, ...] = ()  # of instruments that were calibrated
