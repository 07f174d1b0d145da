"""What is known of people's rate in a slice: never a judge's verdicts as they are.

A judge that nobody checked on these answers may be too lenient or too strict, and no number of
claims shows it. A slice that a judge has a part in is therefore read in several ways, each with a
range that holds people's rate: people's labels, whatever the rest may be; people's labels of a
round, as the sample that they are; the rate corrected by a round (the whole run); the judge's
verdicts with the error rates of a calibration that holds for these items, or with how far the judge
lay from people on the labelled sets of its card. Whichever leaves least open decides.

Reference: Rogan & Gladen (1978), American Journal of Epidemiology 107, 71-76, on error rates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from claimwise.calibration.correction import correct_run
from claimwise.calibration.headline import Basis, list_rate_pairs
from claimwise.calibration.values import Calibration
from claimwise.gates.bounds import bound_to_fail, bound_to_pass, bound_unknown
from claimwise.gates.counts import Floats, GateCounts, rate_of
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import effective_size, wilson_interval
from claimwise.metrics.judge_error import RatePair, predict_people_rate
from claimwise.store import Store
from claimwise.types.results import Weights
from claimwise.types.rows import Judgement

Range = tuple[float, float]
EVERYTHING: Range = (0.0, 1.0)


class RateReading(Protocol):
    """One way to say where people's rate lies."""

    @property
    def basis(self) -> Basis | None:
        """What it rests on; None where no label plays a part."""

    @property
    def told(self) -> str:
        """What it rests on, for a reader; empty for labels (or data) as they are."""

    @property
    def rate(self) -> float | None:
        """The rate that it is about."""

    @property
    def worth(self) -> float | None:
        """How many independent units it is worth; None where a judge's error is in it as well."""

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return one-sided bounds, each with the confidence."""


@dataclass(frozen=True, kw_only=True, slots=True)
class CountedReading:
    """What was counted, whatever the unknown units are."""

    table: Floats
    basis: Basis | None = None
    told: str = ""

    @property
    def rate(self) -> float | None:
        """The rate of what was scored."""
        return rate_of(self.table)

    @property
    def worth(self) -> float | None:
        """The effective size of what was scored."""
        return effective_size(Histogram.from_clusters(self.table[:, 0], self.table[:, 1]))

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return bounds that hold whatever the unknown units are."""
        return (
            bound_unknown(self.table, confidence, "lower", passing=passing),
            bound_unknown(self.table, confidence, "upper", passing=passing),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class SampledReading:
    """People's labels of rounds: each stands for as many claims as it was drawn from.

    ``hidden`` is the share of the slice's claims that could not be drawn: they could be anything.
    """

    counted: Histogram
    hidden: float = 0.0
    basis: Basis = "people"
    told: str = "a sample of claims that people labelled"

    @property
    def rate(self) -> float | None:
        """The weighted rate."""
        return self.counted.hits / self.counted.units if self.counted.items else None

    @property
    def worth(self) -> float | None:
        """The effective size of the labels."""
        return effective_size(self.counted)

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return the bounds of a gate on the weighted items."""
        bound = bound_to_pass if passing else bound_to_fail
        low, high = (bound(self.counted, confidence, side) for side in ("lower", "upper"))
        return _hide((0.0 if low is None else low, 1.0 if high is None else high), self.hidden)


@dataclass(frozen=True, kw_only=True, slots=True)
class CorrectedReading:
    """A run's rate, corrected by a round of people's labels."""

    store: Store
    run_id: str
    judgement: Judgement
    cluster: str | None = None
    weights: Weights | None = None
    hidden: float = 0.0
    basis: Basis = "corrected"
    told: str = "corrected by people's labels"
    worth: None = None

    @property
    def rate(self) -> float | None:
        """The corrected rate."""
        found = correct_run(self.store, self.run_id, self.judgement, weights=self.weights)
        return found.value if found else None

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return the corrected interval; both sides have the error of one."""
        found = correct_run(
            self.store,
            self.run_id,
            self.judgement,
            confidence=2 * confidence - 1,
            cluster=self.cluster,
            weights=self.weights,
        )
        return _hide((found.low, found.high), self.hidden) if found else EVERYTHING


@dataclass(frozen=True, kw_only=True, slots=True)
class _JudgeReading:
    """A judge's verdicts on the items of a slice."""

    judge: str
    counts: GateCounts
    basis: Basis = "judge_only"
    worth: None = None

    @property
    def table(self) -> Floats:
        """The judge's verdicts by item, or by what items belong to."""
        return self.counts.table()

    @property
    def rate(self) -> float | None:
        """The judge's own rate."""
        return rate_of(self.table)

    def bound_own(self, confidence: float, *, passing: bool) -> Range:
        """Return one-sided bounds of the judge's own rate."""
        return CountedReading(table=self.table).find_range(confidence, passing=passing)


@dataclass(frozen=True, kw_only=True, slots=True)
class CalibratedReading(_JudgeReading):
    """A judge's rate, put right by the error rates that calibrations of such items found.

    Method: people's rate is (q - f) / (s - f), with q the judge's rate, s its sensitivity and f the
    share of unsupported claims that it calls supported. Each end takes the least favourable ends of
    the three intervals at once, so it errs on the wide side. Several calibrations (of several
    domains) count by their worst ends.
    """

    calibrations: Sequence[Calibration]

    @property
    def told(self) -> str:
        """What it rests on."""
        return f"{self.judge}, with the error of its calibration"

    @property
    def strength(self) -> float:
        """How much of people's change the judge shows at least: Youden's index.

        A judge that misses a tenth of both kinds shows 8 points where people see 10.
        """
        (_, hits), (_, rejects) = self._find_ends()
        return max(0.0, hits + rejects - 1)

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return the range of people's rate."""
        low, high = self.bound_own(confidence, passing=passing)
        (best_hits, worst_hits), (best_rejects, worst_rejects) = self._find_ends()
        return (
            _correct(low, best_hits, 1 - worst_rejects, otherwise=0.0),
            _correct(high, worst_hits, 1 - best_rejects, otherwise=1.0),
        )

    def _find_ends(self) -> tuple[Range, Range]:
        """Return the best and the worst that sensitivity and specificity may be."""
        return (
            _ends([(one.sensitivity.low, one.sensitivity.high) for one in self.calibrations]),
            _ends([(one.specificity.low, one.specificity.high) for one in self.calibrations]),
        )


@dataclass(frozen=True, kw_only=True, slots=True)
class CardReading(_JudgeReading):
    """A judge's rate, with how far it lay from people on the labelled sets of its card."""

    sets: Sequence[RatePair]

    @property
    def told(self) -> str:
        """What it rests on."""
        return f"{self.judge}, not checked against people here"

    def find_range(self, confidence: float, *, passing: bool) -> Range:
        """Return the range of people's rate; unscored claims could be anything.

        It is never narrower than what sampling leaves open of the judge's own rate.
        """
        table = self.table
        counted = Histogram.from_clusters(table[:, 0], table[:, 1])
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
        unscored = float(table[:, 2].sum())
        low, high = self.bound_own(confidence, passing=passing)
        least, most = _hide((found.low, found.high), unscored / (counted.units + unscored))
        return min(low, least), max(high, most)


def list_judge_readings(
    judge: str, counts: GateCounts, calibrations: Sequence[Calibration], *, card: bool
) -> list[RateReading]:
    """Return what a judge's verdicts on a slice can say: nothing, where its error is unknown.

    Args:
        judge: whose verdicts they are.
        counts: its verdicts by item.
        calibrations: those that hold for all of these items and find it trusted; none otherwise.
        card: whether the labelled sets of its card may be used.
    """
    if calibrations:
        return [CalibratedReading(judge=judge, counts=counts, calibrations=calibrations)]
    sets = list_rate_pairs(judge) if card else []
    return [CardReading(judge=judge, counts=counts, sets=sets)] if sets else []


def _hide(known: Range, hidden: float) -> Range:
    """Widen a range by a share of units of which nothing is known."""
    return known[0] * (1 - hidden), known[1] * (1 - hidden) + hidden


def _ends(found: Sequence[tuple[float | None, float | None]]) -> Range:
    """Return the best and the worst that intervals leave possible."""
    return (
        max(1.0 if high is None else high for _, high in found),
        min(0.0 if low is None else low for low, _ in found),
    )


def _correct(rate: float, hits: float, false: float, *, otherwise: float) -> float:
    if hits <= false:
        return otherwise
    return min(1.0, max(0.0, (rate - false) / (hits - false)))
