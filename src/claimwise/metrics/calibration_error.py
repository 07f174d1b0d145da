"""The expected calibration error of scores, less what chance alone would make of it.

Scores fall into bins of equal width, and a bin's gap is what its scores promise minus what its
labels hold. Chance moves every gap away from zero, and a distance has no sign: with few claims,
scores that are exactly right seem to be off. So what chance is expected to add is taken off.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BINS: Final = 10
_FOLDED: Final = math.sqrt(2 / math.pi)  # mean distance from zero of a standard normal


def find_bins(scores: Floats) -> NDArray[np.intp]:
    """Return the bin of every score; 1 belongs to the last."""
    return np.minimum((scores * BINS).astype(np.intp), BINS - 1)


def sum_bins(
    scores: Floats, labels: NDArray[np.bool_], weights: Floats, groups: NDArray[np.intp]
) -> Floats:
    """Return what every group (an item) adds to every bin: groups x quantities x bins.

    Quantities: the gap, the weight, the variance of the gap if scores were right and claims
    independent; the group's gap squared, its gap times its weight, its weight squared; and whether
    it has a claim in the bin. Groups are numbers from 0.
    """
    bins, count = find_bins(scores), int(groups.max()) + 1 if len(groups) else 0
    found = np.zeros((count, 7, BINS))
    for place, values in enumerate(
        (weights * (scores - labels), weights, weights**2 * scores * (1 - scores))
    ):
        np.add.at(found[:, place], (groups, bins), values)
    gaps, held = found[:, 0], found[:, 1]
    found[:, 3], found[:, 4], found[:, 5] = gaps**2, gaps * held, held**2
    found[:, 6] = held > 0
    return found


def measure_error(sums: Floats) -> float:
    """Return the calibration error of all groups (`measure_errors`); NaN without claims."""
    return float(measure_errors(sums, np.ones((1, len(sums))))[0])


def measure_plain_error(sums: Floats) -> float:
    """Return the calibration error of all groups with what chance adds; NaN without claims."""
    totals = sums.sum(axis=0)
    weight = float(totals[1].sum())
    return float(np.abs(totals[0]).sum()) / weight if weight else math.nan


def measure_errors(sums: Floats, drawn: Floats) -> Floats:
    """Return the calibration error for every line of group counts, less what chance adds.

    Method: with gaps g of the bins and their variances v, the error is

        max(0, sum |g| - sqrt(2 / pi) sum sqrt(v) min(1, sum v / sum g^2)) / claims.

    The middle term is the mean of sum |g| if scores were right; where the gaps are far larger than
    chance makes them, hardly anything is taken off. v is the larger of what independent claims of
    right scores would have and what groups show, since claims of a group err together.
    """
    totals = np.tensordot(drawn, sums, axes=1)
    gaps, weights, independent = totals[:, 0], totals[:, 1], totals[:, 2]
    squares, crossed, held, present = (totals[:, place] for place in (3, 4, 5, 6))
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.where(weights > 0, gaps / weights, 0.0)
        shown = np.maximum(0.0, squares - 2 * mean * crossed + mean**2 * held)
        shown = np.where(present > 1, shown * present / (present - 1), 0.0)
        variances = np.maximum(independent, shown)
        chance = variances.sum(axis=1) / (gaps**2).sum(axis=1)
        taken = _FOLDED * np.sqrt(variances).sum(axis=1) * np.fmin(1.0, chance)
        found: Floats = np.maximum(0.0, np.abs(gaps).sum(axis=1) - taken) / weights.sum(axis=1)
    return found


def bound_error(error: float, resampled: Floats, confidence: float) -> tuple[float, float] | None:
    """Return an interval of an error from those of resampled groups; None without any.

    Resampling adds chance once more, so resampled errors lie too high. The upper quantile is kept,
    which is on the safe side; below, its distance from the error is taken off.
    """
    known = resampled[~np.isnan(resampled)]
    if not known.size:
        return None
    high = max(error, float(np.quantile(known, (1 + confidence) / 2)))
    return max(0.0, 2 * error - high), min(1.0, high)
