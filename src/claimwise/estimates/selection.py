"""Chooses the claims of a window whose labels narrow the estimate most.

A label says most where the judge is in doubt, and claims of one answer say much of the same. So
claims are drawn with chances that follow the judge's doubt, one per item at most, and every
chance is kept: weighted by 1 / chance, the labels speak for all claims. Labelling the most
doubtful claims first, without weights, gives a rate that is far off.

Reference: Särndal, Swensson & Wretman (1992), Model Assisted Survey Sampling, sections 3.6.2 and
12.2 (systematic sampling with unequal probabilities; optimal allocation with a model).
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from claimwise.calibration.maps import LabelledScores, apply_map, fit_platt, is_enough

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

MARGIN: Final = 0.02
"""A score is never taken to be nearer to 0 or 1 than this: judges are too sure of themselves."""
EVEN: Final = 0.2
"""The share of the labels that goes evenly over all claims, whatever the judge believes."""


def sharpen_scores(scores: Floats, known: LabelledScores | None) -> Floats:
    """Return scores recalibrated on earlier labels of the same judge, where there are enough.

    They only decide what is drawn: chances are known whatever they rest on, so labels of other
    weeks bias nothing here.
    """
    if known is None or not is_enough(known):
        return scores
    return apply_map(fit_platt(known), scores)


def find_chances(scores: Floats, items: Numbers, size: int) -> Floats:
    """Return every claim's chance of being drawn, at most one per item.

    Chances are in proportion to 0.2/N + 0.8 √(p(1-p)) / Σ√(p(1-p)) and add up to ``size``. An
    item whose claims would be drawn more than once is drawn surely, its chances scaled down alike;
    what it can't use goes to the others.

    Args:
        scores: the judge's probabilities of support, recalibrated where that can be done.
        items: the claims' items, as numbers from 0.
        size: how many claims to draw; all items have one where it is at least their number.
    """
    inside = np.clip(scores, MARGIN, 1 - MARGIN)
    doubt = np.sqrt(inside * (1 - inside))
    total = float(doubt.sum())
    shares = EVEN / len(scores) + (1 - EVEN) * (doubt / total if total else 1 / len(scores))
    by_item = np.bincount(items, shares)
    sure = np.zeros(len(by_item), dtype=bool)
    factor = 0.0
    while not sure.all():
        factor = (size - sure.sum()) / by_item[~sure].sum()
        over = ~sure & (factor * by_item >= 1)
        if not over.any():
            break
        sure |= over
    scale = np.where(sure, 1 / by_item, max(factor, 0.0))
    return shares * scale[items]


def draw_claims(chances: Floats, items: Numbers, generator: np.random.Generator) -> Numbers:
    """Draw claims with these chances, one per item at most; return their places in order.

    Method: items in random order, one point in every unit of their cumulated chances (systematic
    sampling); within an item the point says which claim. The number of claims is the sum of the
    chances, rounded up or down, and every chance is exact.
    """
    order = np.argsort(generator.permutation(int(items.max()) + 1)[items], kind="stable")
    ends = np.cumsum(chances[order])
    points = np.arange(generator.random(), ends[-1], 1.0)
    return np.sort(order[np.searchsorted(ends, points, side="right")])
