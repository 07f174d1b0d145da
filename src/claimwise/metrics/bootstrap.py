"""The cluster bootstrap of a rate, drawn from a histogram of items.

Drawing items with replacement and counting how often each distinct pair came up is the same as
one multinomial draw over the pairs. A resample therefore costs as much as there are distinct
pairs, and not as much as there are items.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.metrics.histogram import Histogram

_CELLS_AT_ONCE = 2_000_000  # 16 MB of counts in memory, however many resamples are asked for
_MANY_ITEMS = 1_000


def resampled_rates(h: Histogram, *, resamples: int, seed: int) -> NDArray[np.float64]:
    """Draw the rates of `resamples` bootstrap samples of items.

    Method: items are drawn with replacement, whole, and the ratio of sums is taken in each
    sample. Assumes that items are independent of each other; units inside an item need not be.
    From 1,000 items on, the number of times each pair comes up is drawn independently (Poisson)
    in half the time; the number of items then varies a little between samples, which leaves the
    spread of a ratio the same because its residuals add up to zero. The same histogram and seed
    give the same figures. One item gives its own rate every time.

    Args:
        h: A histogram with at least one item.
        resamples: Number of bootstrap samples.
        seed: Seed of the random stream.

    Reference: Davison & Hinkley (1997), Bootstrap Methods and their Application, section 2.4;
    Hanley & MacGibbon (2006), Computer Methods and Programs in Biomedicine 83, 57-62.
    """
    generator = np.random.Generator(np.random.PCG64(seed))
    pairs = np.column_stack((h.numerator, h.denominator))
    chances = h.clusters / h.items
    rates = np.empty(resamples)
    step = max(1, _CELLS_AT_ONCE // len(pairs))
    for start in range(0, resamples, step):
        block = rates[start : start + step]
        if h.items < _MANY_ITEMS:
            counts = generator.multinomial(h.items, chances, size=len(block))
        else:
            counts = generator.poisson(h.clusters, size=(len(block), len(pairs)))
        sums = counts @ pairs
        block[:] = sums[:, 0] / sums[:, 1]
    return rates


def bca_levels(
    h: Histogram, rates: NDArray[np.float64], levels: Sequence[float]
) -> NDArray[np.float64]:
    """Correct the quantile levels of a bootstrap for bias and skewness (BCa).

    The acceleration comes from leaving out one item at a time, which again needs only one figure
    per distinct pair. Assumes at least two items and rates that differ between items.

    Reference: Efron (1987), Better Bootstrap Confidence Intervals, JASA 82, 171-185.
    """
    rate = h.hits / h.units
    # Ties count half: with few items many resamples repeat the rate exactly.
    below = (np.mean(rates < rate) + np.mean(rates <= rate)) / 2
    # One resample short of the end, so that the shift stays finite.
    shift = special.ndtri(np.clip(below, 1 / len(rates), 1 - 1 / len(rates)))
    pull = _acceleration(h)
    score = shift + special.ndtri(np.asarray(levels))
    # Past a skewness limit the formula would turn round; its level is the end of the range there.
    stretch = np.maximum(1 - pull * score, 1e-9)
    corrected: NDArray[np.float64] = special.ndtr(shift + score / stretch)
    return corrected


def _acceleration(h: Histogram) -> float:
    left = (h.hits - h.numerator) / (h.units - h.denominator)
    pulls = np.average(left, weights=h.clusters) - left
    square = float(h.clusters @ pulls**2)
    return float(h.clusters @ pulls**3) / (6 * square * math.sqrt(square))
