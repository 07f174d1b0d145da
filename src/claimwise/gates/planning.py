"""How much more would decide a gate: items that are missing, and drops that it can find."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np
from scipy import special

from claimwise.gates.bounds import POWER, BoundSide, Confidence, bound_to_fail, bound_to_pass
from claimwise.gates.counts import Floats, imagine
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.paired import RateDifference
from claimwise.types.results import Better

MOST_ITEMS: Final = 100_000
"""Beyond this many items, “more items” is no advice."""


def is_wrong(value: float, limit: float, better: Better) -> bool:
    """Return whether a rate is on the wrong side of a limit."""
    return value < limit if better == "higher" else value > limit


def find_detectable(size: float, limit: float, confidence: float, power: float = POWER) -> float:
    """Return how far beyond the limit a rate must lie for a look to fail it with ``power``.

    Method: (z_confidence + z_power) standard errors of a rate at the limit from ``size``
    independent units.
    """
    reach = float(special.ndtri(confidence) + special.ndtri(power))
    return min(1.0, reach * math.sqrt(limit * (1 - limit) / size))


def plan_rate(table: Floats, better: Better, limit: float, sure: Confidence) -> int | None:
    """Return about how many more items decide, if more of the same come in.

    The items at hand are taken several times over until the bound leaves the limit behind. None
    when the unknown units decide, whatever the number of items.
    """
    for well, confidence in ((False, sure.passing), (True, sure.failing)):
        counted = Histogram.from_clusters(*imagine(table, hits=well == (better == "higher")))
        if is_wrong(counted.hits / counted.units, limit, better) == well:
            decides = partial(_would_decide, counted, better, limit, confidence, well)
            return max(1, _search(counted.items, decides) - counted.items)
    return None


def _would_decide(
    h: Histogram, better: Better, limit: float, confidence: float, well: bool, items: int
) -> bool:
    """Return whether so many items of the same kinds would fail a gate (``well``) or pass it."""
    side: BoundSide = "upper" if well == (better == "higher") else "lower"
    bound_rate = bound_to_fail if well else bound_to_pass
    bound = bound_rate(_multiply(h, items / h.items), confidence, side)
    return bound is not None and is_wrong(bound, limit, better) == well


def _multiply(h: Histogram, factor: float) -> Histogram:
    """Return a histogram as it would be with more items of the same kinds."""
    counts = np.rint(h.clusters * factor).astype(np.int64)
    return Histogram(
        numerator=h.numerator, denominator=h.denominator, clusters=counts,
        trials=float(h.denominator @ counts),
    )  # fmt: skip


def plan_change(
    ill: RateDifference, well: RateDifference, better: Better, margin: float, sure: Confidence
) -> int | None:
    """Return about how many more shared items decide; None when the unknown units do."""
    sign = 1 if better == "higher" else -1
    # How far each change is from the line that it would have to be sure to have left behind.
    room, drop = sign * ill.change + margin, -sign * well.change

    def decides(items: int) -> bool:
        shrink = math.sqrt(ill.items / items)
        t_pass, t_fail = (_reach(ill, sure.passing), _reach(well, sure.failing))
        return t_pass * shrink <= room or t_fail * shrink < drop

    if room <= 0 and drop <= 0:
        return None
    return max(1, _search(ill.items, decides) - ill.items)


def _reach(difference: RateDifference, confidence: float) -> float:
    return difference.bound(confidence, upper=True) - difference.change


def _search(items: int, decides: Callable[[int], bool]) -> int:
    """Return the fewest items that decide, to a twentieth; MOST_ITEMS and more stand for never."""
    low, high = items, items
    while not decides(high):
        low, high = high, high * 2
        if high > MOST_ITEMS:
            return items + MOST_ITEMS
    while high - low > max(1, high // 20):
        middle = (low + high) // 2
        low, high = (low, middle) if decides(middle) else (middle, high)
    return high
