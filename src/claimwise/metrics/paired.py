"""The difference of two runs' rates over the items that both answered.

Items are paired, claims are not: two systems word their claims differently, and only the item is
the same. What is hard about an item is hard for both runs, so pairing takes that out and needs
about half the items that two separate samples would.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import FEW_INFORMATIVE, PLANNING_ICC

_Counts = NDArray[np.float64]

PLANNING_CORRELATION = 0.5
"""Correlation between two runs on one item, assumed where too few items differ to show it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RateDifference:
    """How much higher the rate of the new run is than that of the base, over shared items."""

    base: float
    new: float
    error: float  # standard error of new - base
    items: int
    # The error that the items themselves show; `error` is larger where few of them differ.
    measured: float = 0.0

    @property
    def change(self) -> float:
        """The new rate minus the base's."""
        return self.new - self.base

    def interval(self, confidence: float) -> tuple[float, float]:
        """Return the two-sided interval: Student's t with one degree of freedom fewer than items.

        Held within -1 and 1. One item says nothing about others: the whole range.
        """
        return self.bound((1 + confidence) / 2, upper=False), self.bound(
            (1 + confidence) / 2, upper=True
        )

    def bound(self, confidence: float, *, upper: bool) -> float:
        """Return a one-sided bound: with confidence the change is below (or above) it."""
        if self.items < 2:
            return 1.0 if upper else -1.0
        reach = float(special.stdtrit(self.items - 1, confidence)) * self.error
        return min(1.0, self.change + reach) if upper else max(-1.0, self.change - reach)


def compare_items(
    base_hits: ArrayLike, base_units: ArrayLike, new_hits: ArrayLike, new_units: ArrayLike
) -> RateDifference | None:
    """Return the difference of two pooled rates; the arrays have one entry per shared item.

    Method: linearisation. With u = (y - R m) / mean(m) for either run, the variance of the
    change is sum (u_new - u_base)^2 / (G (G - 1)) over G items. An item without units in one of
    the runs counts with those that it has in the other. When fewer than ten items differ between
    the runs, that variance is mostly luck (none differing would even make it zero): it is then
    averaged with the one that `PLANNING_ICC` and `PLANNING_CORRELATION` imply, and is never below
    its own value. The same holds when all but a few items changed by the same amount. None where
    one of the runs has no units at all.

    Reference: Cochran (1977), Sampling Techniques, section 6.3 and 12.10; Miller (2024),
    arXiv:2411.00640, section 4.2.
    """
    sides = [
        tuple(np.asarray(values, dtype=np.float64) for values in side)
        for side in ((base_hits, base_units), (new_hits, new_units))
    ]
    counted = (sides[0][1] > 0) | (sides[1][1] > 0)
    if any(not units.sum() for _, units in sides):
        return None
    (y0, m0), (y1, m1) = ((hits[counted], units[counted]) for hits, units in sides)
    r0, r1 = float(y0.sum() / m0.sum()), float(y1.sum() / m1.sum())
    items = len(m0)
    if items < 2:
        return RateDifference(base=r0, new=r1, error=1.0, items=items, measured=0.0)
    residuals = (y1 - r1 * m1) / m1.mean() - (y0 - r0 * m0) / m0.mean()
    measured = float(residuals @ residuals) / (items * (items - 1))
    weight = max(0.0, 1 - _count_informative(y0, m0, y1, m1) / FEW_INFORMATIVE)
    planned = plan_variance(y0, m0) + plan_variance(y1, m1)
    blended = weight * planned * (1 - PLANNING_CORRELATION) + (1 - weight) * measured
    return RateDifference(
        base=r0,
        new=r1,
        error=math.sqrt(max(measured, blended)),
        items=items,
        measured=math.sqrt(measured),
    )


def _count_informative(y0: _Counts, m0: _Counts, y1: _Counts, m1: _Counts) -> int:
    """Count the items that show how changes vary: those that did not change like most others.

    Most items of two runs change by nothing; a change that hits every item alike shows as little.
    An item without units in one of the runs shows nothing either.
    """
    both = (m0 > 0) & (m1 > 0)
    changes = np.round(y1[both] / m1[both] - y0[both] / m0[both], 12)
    _, alike = np.unique(changes, return_counts=True)
    return int(len(changes) - alike.max(initial=0))


def split_change(
    base_hits: ArrayLike, base_units: ArrayLike, new_hits: ArrayLike, new_units: ArrayLike
) -> NDArray[np.float64]:
    """Return what each item adds to the change of the pooled rate; they add up to it.

    Item i adds (y_new - R m_new) / M_new - (y_base - R m_base) / M_base, with R half-way between
    the two rates: an item that is as good as the others, only longer, adds little. Both runs
    must have units.
    """
    y0, m0, y1, m1 = (
        np.asarray(values, dtype=np.float64)
        for values in (base_hits, base_units, new_hits, new_units)
    )
    middle = (y0.sum() / m0.sum() + y1.sum() / m1.sum()) / 2
    parts: NDArray[np.float64] = (y1 - middle * m1) / m1.sum() - (y0 - middle * m0) / m0.sum()
    return parts


def correlate_runs(
    base_hits: ArrayLike, base_units: ArrayLike, new_hits: ArrayLike, new_units: ArrayLike
) -> float | None:
    """Return how alike two runs are on the same items: the correlation of their residuals.

    It is what pairing gains: the variance of the change is 2 (1 - r) times that of a rate. None
    below two items, without units in both runs, and where one of them has no spread at all.
    """
    y0, m0, y1, m1 = (
        np.asarray(values, dtype=np.float64)
        for values in (base_hits, base_units, new_hits, new_units)
    )
    if len(y0) < 2 or not m0.sum() or not m1.sum():
        return None
    u0, u1 = y0 - y0.sum() / m0.sum() * m0, y1 - y1.sum() / m1.sum() * m1
    size = math.sqrt(float(u0 @ u0) * float(u1 @ u1))
    return float(u0 @ u1) / size if size else None


def plan_variance(hits: NDArray[np.float64], units: NDArray[np.float64]) -> float:
    """Return the variance of one rate under the planning correlation; 0 and 1 have one too."""
    counted = Histogram.from_clusters(hits, units)
    size = counted.units * (units @ units) / units.sum() ** 2
    effective = counted.units / max(1.0, 1 + (size - 1) * PLANNING_ICC)
    centre = (counted.hits / counted.units * effective + 2) / (effective + 4)
    return float(centre * (1 - centre) / effective)
