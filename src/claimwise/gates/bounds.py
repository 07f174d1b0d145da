"""The one-sided bounds of a rate that gates decide by.

Answers that are wrong throughout are rare. A sample that missed them has too low a rate of errors
and too small a spread at once, so a bound on the far side of a rare outcome (how common might
errors be?) rests on a spread that is smallest just when it is wrong. Korn & Graubard's bound, which
is right on the near side, lets a system at its limit pass 9 % of the time there instead of 5 %.
The bounds here are more cautious on the far side; `benchmarks/gates.py` shows what holds.

Reference: Korn & Graubard (1998), Survey Methodology 24, 193-201; Satterthwaite (1946), Biometrics
Bulletin 2, 110-114.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from scipy import special

from claimwise.gates.counts import Floats, imagine
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import (
    UNSEEN_ICC,
    carried_by,
    degrees_of_freedom,
    design_effect,
    korn_graubard_bound,
)

BoundSide = Literal["lower", "upper"]

POWER: Final = 0.8
"""How often a drop must be found to be called detectable."""

DECISION_ICC: Final = 0.4
"""Intraclass correlation assumed until the data show another; labelled sets have 0.28-0.50."""

ENOUGH_INFORMATIVE: Final = 100
"""From this many items with a hit and with a miss on, nothing is assumed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Confidence:
    """How sure a slice must be: to pass by itself, to fail together with the others."""

    passing: float
    failing: float


def bound_to_pass(h: Histogram, confidence: float, side: BoundSide) -> float | None:
    """Return a bound: with confidence the rate is above (or below) it.

    Method: Clopper-Pearson on n / D (z / t)^2 units with a cautious design effect D. With k items
    that hold a hit, or a miss where those are fewer, and w = max(0, 1 - k / 100),

        D = max(1, measured, w (1 + (b - 1) DECISION_ICC) + (1 - w) measured),

    where b is the item size that matters, and `UNSEEN_ICC` stands for `DECISION_ICC` at a rate of
    0 or 1; t has `degrees_of_freedom`. Assumes independent items. One item gives the trivial bound
    0 or 1, no items None.
    """
    return _bound(h, confidence, side, degrees_of_freedom(h))


def bound_to_fail(h: Histogram, confidence: float, side: BoundSide) -> float | None:
    """Return a bound as `bound_to_pass`, for the high confidence of many slices at once.

    On the near side, where limits that guard something lie, this is Korn & Graubard's bound. On
    the far side, deep in the tail, it counts that a few items carry most of the spread: with
    squared residuals r of the items, t has w (G - 1) + (1 - w) (sum r)^2 / sum r^2 degrees of
    freedom; the assumed part of the spread has no luck in it.
    """
    if h.items < 2:
        return bound_to_pass(h, confidence, side)
    if (h.hits < h.units / 2) == (side == "lower"):
        return korn_graubard_bound(h, confidence, side)
    weight = _assumed_share(h)
    freedom = weight * (h.items - 1) + (1 - weight) * carried_by(h)
    return _bound(h, confidence, side, min(freedom, degrees_of_freedom(h)))


def bound_unknown(table: Floats, confidence: float, side: BoundSide, *, passing: bool) -> float:
    """Return a one-sided bound of a rate, whatever the unknown units of a table are.

    Adding imagined units also makes the sample look larger, so the bound of what was scored alone
    counts too where it reaches further.
    """
    bound_rate = bound_to_pass if passing else bound_to_fail
    imagined = Histogram.from_clusters(*imagine(table, hits=side == "upper"))
    scored = Histogram.from_clusters(table[:, 0], table[:, 1])
    found = [
        bound
        for counted in (imagined, scored)
        if (bound := bound_rate(counted, confidence, side)) is not None
    ]
    trivial = float(side == "upper")
    return trivial if not found else (max if side == "upper" else min)(found)


def _bound(h: Histogram, confidence: float, side: BoundSide, freedom: float) -> float | None:
    if not h.items:
        return None
    if h.items == 1:
        return float(side == "upper")
    shrink = float(special.ndtri(confidence)) / float(special.stdtrit(freedom, confidence))
    size = h.trials / _assume_effect(h) * shrink**2
    hits = size * h.hits / h.units
    misses = size * (h.units - h.hits) / h.units
    if side == "lower":
        return float(special.betaincinv(hits, misses + 1, 1 - confidence)) if hits else 0.0
    return float(special.betaincinv(hits + 1, misses, confidence)) if misses else 1.0


def _assume_effect(h: Histogram) -> float:
    """Return the design effect: measured, pulled up towards an assumed one, and at least 1."""
    size = h.trials * float(h.clusters @ h.denominator**2) / h.units**2
    measured = design_effect(h)
    if measured is None:
        return max(1.0, 1 + (size - 1) * UNSEEN_ICC)
    assumed = 1 + (size - 1) * DECISION_ICC
    weight = _assumed_share(h)
    return max(1.0, measured, weight * assumed + (1 - weight) * measured)


def _assumed_share(h: Histogram) -> float:
    """Return how much of the spread is assumed rather than measured, 0 to 1."""
    with_hit = int(h.clusters[h.numerator > 0].sum())
    with_miss = int(h.clusters[h.numerator < h.denominator].sum())
    return max(0.0, 1 - min(with_hit, with_miss) / ENOUGH_INFORMATIVE)
