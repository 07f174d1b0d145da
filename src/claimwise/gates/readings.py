"""What a judge's verdicts say of people's rate: never the verdicts themselves.

A judge that nobody checked on these answers may be too lenient or too strict, and no number of
claims shows it. A slice that rests on a judge is therefore decided by a range that contains the
judge's own error: the rate corrected by a round of people's labels (the whole run), the error rates
of a calibration that holds for these items, or how far the judge lay from people on the labelled
sets of its card. Without any of them there is no range, and the slice is inconclusive.

Reference: Rogan & Gladen (1978), American Journal of Epidemiology 107, 71-76, on error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from claimwise.calibration.correction import correct_run
from claimwise.calibration.headline import Basis, list_rate_pairs
from claimwise.calibration.values import Calibration
from claimwise.gates.bounds import bound_to_fail, bound_to_pass
from claimwise.gates.counts import Floats
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval
from claimwise.metrics.judge_error import RatePair, predict_people_rate
from claimwise.store import Store
from claimwise.types.rows import Judgement

Range = tuple[float, float]
EVERYTHING: Range = (0.0, 1.0)


class Reading(Protocol):
    """One way to say where people's share of supported claims lies."""

    @property
    def basis(self) -> Basis:
        """Whether people correct it, or a judge alone says so."""

    @property
    def told(self) -> str:
        """What it rests on, for a reader."""

    @property
    def rate(self) -> float | None:
        """The rate that it is about."""

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return one-sided bounds, each with the confidence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CorrectedReading:
    """A run's rate, corrected by a round of people's labels."""

    store: Store
    run_id: str
    judgement: Judgement
    basis: Basis = "corrected"
    told: str = "corrected by people's labels"

    @property
    def rate(self) -> float | None:
        """The corrected rate."""
        found = correct_run(self.store, self.run_id, self.judgement)
        return found.value if found else None

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return the corrected interval; both sides have the error of one."""
        two_sided = 2 * confidence - 1
        found = correct_run(self.store, self.run_id, self.judgement, confidence=two_sided)
        return (found.low, found.high) if found else EVERYTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibratedReading:
    """A judge's rate, put right by the error rates that calibrations of such items found.

    Method: people's rate is (q - f) / (s - f), with q the judge's rate, s its sensitivity and f the
    share of unsupported claims that it calls supported. Each end takes the least favourable ends of
    the three intervals at once, so it errs on the wide side. Several calibrations (of several
    domains) count by their worst ends.
    """

    judge: str
    table: Floats
    calibrations: Sequence[Calibration]
    basis: Basis = "judge_only"

    @property
    def told(self) -> str:
        """What it rests on."""
        return f"{self.judge}, with the error of its calibration"

    @property
    def rate(self) -> float | None:
        """The judge's own rate."""
        return _divide(self.table)

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return the range of people's rate."""
        low, high = _bound_judge(self.table, confidence, passing=passing)
        hits = [one.sensitivity for one in self.calibrations]
        rejects = [one.specificity for one in self.calibrations]
        best_hits, worst_hits = _ends([(one.low, one.high) for one in hits])
        best_rejects, worst_rejects = _ends([(one.low, one.high) for one in rejects])
        return (
            _correct(low, best_hits, 1 - worst_rejects, otherwise=0.0),
            _correct(high, worst_hits, 1 - best_rejects, otherwise=1.0),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CardReading:
    """A judge's rate, with how far it lay from people on the labelled sets of its card."""

    judge: str
    table: Floats
    sets: Sequence[RatePair]
    basis: Basis = "judge_only"

    @property
    def told(self) -> str:
        """What it rests on."""
        return f"{self.judge}, not checked against people here"

    @property
    def rate(self) -> float | None:
        """The judge's own rate."""
        return _divide(self.table)

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return the range of people's rate; unscored claims could be anything.

        It is never narrower than what sampling leaves open of the judge's own rate.
        """
        counted = Histogram.from_clusters(self.table[:, 0], self.table[:, 1])
        two_sided = 2 * confidence - 1
        interval = wilson_interval(counted, two_sided)
        if interval is None:
            return EVERYTHING
        found = predict_people_rate(
            counted.hits / counted.units,
            round(counted.units),
            self.sets,
            sampling=(interval.low, interval.high),
            confidence=two_sided,
        )
        if found is None:
            return EVERYTHING
        unscored = float(self.table[:, 2].sum())
        total = counted.units + unscored
        low, high = _bound_judge(self.table, confidence, passing=passing)
        return (
            min(low, found.low * counted.units / total),
            max(high, (found.high * counted.units + unscored) / total),
        )


def list_judge_readings(
    judge: str, table: Floats, calibrations: Sequence[Calibration], *, card: bool
) -> list[Reading]:
    """Return what a judge's verdicts on a slice can say: nothing, where its error is unknown.

    Args:
        judge: whose verdicts they are.
        table: its verdicts by item, as `GateCounts.table`.
        calibrations: those that hold for all of these items and find it trusted; none otherwise.
        card: whether the labelled sets of its card may be used.
    """
    if calibrations:
        return [CalibratedReading(judge=judge, table=table, calibrations=calibrations)]
    sets = list_rate_pairs(judge) if card else []
    return [CardReading(judge=judge, table=table, sets=sets)] if sets else []


def _bound_judge(table: Floats, confidence: float, *, passing: bool) -> Range:
    """Return one-sided bounds of a judge's own rate, whatever its unscored claims are."""
    hits, units, unscored = table[:, 0], table[:, 1], table[:, 2]
    bound = bound_to_pass if passing else bound_to_fail
    low = bound(Histogram.from_clusters(hits, units + unscored), confidence, "lower")
    high = bound(Histogram.from_clusters(hits + unscored, units + unscored), confidence, "upper")
    return (0.0 if low is None else low, 1.0 if high is None else high)


def _ends(found: Sequence[tuple[float | None, float | None]]) -> tuple[float, float]:
    """Return the best and the worst that intervals leave possible."""
    return (
        max(1.0 if high is None else high for _, high in found),
        min(0.0 if low is None else low for low, _ in found),
    )


def _correct(rate: float, hits: float, false: float, *, otherwise: float) -> float:
    if hits <= false:
        return otherwise
    return min(1.0, max(0.0, (rate - false) / (hits - false)))


def _divide(table: Floats) -> float | None:
    units = float(table[:, 1].sum())
    return float(table[:, 0].sum()) / units if units else None
