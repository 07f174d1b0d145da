"""How far a pilot's spread may lie from the true one, by resampling its items.

A plan that takes the pilot's spread for the truth keeps its power only if the pilot was lucky: a
spread that looks too small asks for too few items, and the power that is lost that way is more than
what a spread that looks too large wins. So plans average the power over the spreads that the pilot
leaves possible.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import FEW_INFORMATIVE, PLANNING_ICC, UNSEEN_ICC

Floats = NDArray[np.float64]

RESAMPLES: Final = 300
ENOUGH_ITEMS: Final = 2_000
"""From this many on, a pilot's spread is known well enough."""
CERTAIN: Final = np.ones(1)
"""Where there is no pilot, or a large one: the spread is as it is said to be."""


def doubt_spread(histogram: Histogram, seed: int = 0) -> Floats:
    """Return what the true spread may be, as multiples of the one that items show.

    Method: items are resampled; what the pilot's spread is to a resample's, the true spread may be
    to the pilot's. Below two items, and from `ENOUGH_ITEMS` on: 1 alone.
    """
    if not 2 <= histogram.items < ENOUGH_ITEMS:
        return CERTAIN
    counts = histogram.clusters.astype(np.float64)
    shown = _measure_spreads(histogram, counts[None, :])
    found: Floats = shown / _measure_spreads(histogram, _resample(counts, seed))
    return found


def doubt_paired_spread(histogram: Histogram, paired: Floats, seed: int = 0) -> Floats:
    """Return the same for runs on the same items, whose correlation is unsure too.

    ``paired`` are hits and units of both runs, an entry per item (four lines).
    """
    items = paired.shape[1]
    if not 2 <= items < ENOUGH_ITEMS or not histogram.items:
        return doubt_spread(histogram, seed)
    drawn = _resample(np.ones(items), seed)
    shown = 1 - correlate_resamples(paired, np.ones((1, items)))
    found: Floats = doubt_spread(histogram, seed) * shown / (1 - correlate_resamples(paired, drawn))
    return found


def correlate_resamples(paired: Floats, drawn: Floats) -> Floats:
    """Return how alike two runs are on an item, for every line of item counts; 0 to 0.95."""
    y0, m0, y1, m1 = paired

    def add(one: Floats, other: Floats) -> Floats:
        total: Floats = drawn @ (one * other)
        return total

    r0, r1 = (drawn @ y0) / (drawn @ m0), (drawn @ y1) / (drawn @ m1)
    base = add(y0, y0) - 2 * r0 * add(y0, m0) + r0**2 * add(m0, m0)
    new = add(y1, y1) - 2 * r1 * add(y1, m1) + r1**2 * add(m1, m1)
    both = add(y0, y1) - r0 * add(m0, y1) - r1 * add(y0, m1) + r0 * r1 * add(m0, m1)
    size = np.sqrt(np.maximum(0.0, base * new))
    found: Floats = np.clip(np.divide(both, size, out=np.zeros_like(both), where=size > 0), 0, 0.95)
    return found


def _resample(counts: Floats, seed: int) -> Floats:
    generator = np.random.Generator(np.random.PCG64(seed))
    items = int(counts.sum())
    return generator.multinomial(items, counts / items, size=RESAMPLES).astype(np.float64)


def _measure_spreads(h: Histogram, drawn: Floats) -> Floats:
    """Return the variance of one item's rate, p (1 - p) D / claims, for every line of counts.

    As `effective_size` and plans do it: D is partly assumed where few items hold a hit or a miss,
    and p is pulled towards one half.
    """
    items, units, hits = drawn.sum(axis=1), drawn @ h.denominator, drawn @ h.numerator
    rate = hits / units
    squares, held = drawn @ h.numerator**2, drawn @ h.denominator**2
    residuals = squares - 2 * rate * (drawn @ (h.numerator * h.denominator)) + rate**2 * held
    inside = (hits > 0) & (hits < units)
    with np.errstate(invalid="ignore", divide="ignore"):
        measured = residuals * items / (items - 1) / units / (rate * (1 - rate))
    informative = np.minimum(
        drawn @ (h.numerator > 0).astype(float),
        drawn @ (h.numerator < h.denominator).astype(float),
    )
    weight = np.maximum(0.0, 1 - informative / FEW_INFORMATIVE)
    size = held / units
    planned = weight * (1 + (size - 1) * PLANNING_ICC) + (1 - weight) * measured
    effect = np.where(inside, np.fmax(np.fmax(1.0, measured), planned), 1 + (size - 1) * UNSEEN_ICC)
    worth = units / np.maximum(1.0, effect)
    pulled = (rate * worth + 2) / (worth + 4)
    spread: Floats = pulled * (1 - pulled) * items / worth
    return spread
