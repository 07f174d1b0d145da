"""The area under the ROC curve for weighted claims in groups, by set.

Reference: Obuchowski (1997), Biometrics 53, 567-578, on the AUC of clustered data.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]


class Auc(NamedTuple):
    """The chance that a supported claim scores above another, ties half; with its interval."""

    value: float
    low: float | None
    high: float | None


def measure_auc(
    scores: Floats,
    supported: NDArray[np.bool_],
    weights: Floats,
    groups: Numbers,
    sets: Numbers,
    confidence: float = 0.95,
) -> Auc | None:
    """Measure the mean AUC over sets; None where no set has both kinds of claims.

    Method: what a claim adds to the variance is how far its own share of rightly ordered pairs
    lies from the AUC; such residuals are added up by group. Interval: Student's t on the logit,
    so that it stays within 0 and 1. None with one group, or an AUC of 0 or 1, which show no spread.
    """
    values, residuals = [], np.zeros(len(scores))
    for number in np.unique(sets):
        rows = np.flatnonzero(sets == number)
        found = _place(scores[rows], supported[rows], weights[rows])
        if found is not None:
            values.append(found[0])
            residuals[rows] = found[1]
    if not values:
        return None
    value = float(np.mean(values))
    parts = np.bincount(groups, residuals) / len(values)
    count = len(np.unique(groups))
    if count < 2 or not 0 < value < 1:
        return Auc(value, None, None)
    error = math.sqrt(float(parts @ parts) * count / (count - 1))
    reach = float(special.stdtrit(count - 1, (1 + confidence) / 2)) * error
    reach /= value * (1 - value)  # on the logit's scale
    middle = float(special.logit(value))
    return Auc(value, float(special.expit(middle - reach)), float(special.expit(middle + reach)))


def _place(
    scores: Floats, supported: NDArray[np.bool_], weights: Floats
) -> tuple[float, Floats] | None:
    """Return a set's AUC and each claim's residual; None where all claims are of one kind."""
    above = _share_below(scores, scores[~supported], weights[~supported])
    below = 1 - _share_below(scores, scores[supported], weights[supported])
    if not supported.any() or supported.all():
        return None
    places = np.where(supported, above, below)
    kind = np.where(supported, weights[supported].sum(), weights[~supported].sum())
    value = float(np.average(places[supported], weights=weights[supported]))
    return value, weights / kind * (places - value)


def _share_below(scores: Floats, others: Floats, weights: Floats) -> Floats:
    """Return, for each score, the weighted share of others below it; ties count half."""
    order = np.argsort(others)
    total = np.concatenate(([0.0], np.cumsum(weights[order])))
    left = total[np.searchsorted(others[order], scores, side="left")]
    right = total[np.searchsorted(others[order], scores, side="right")]
    share: Floats = (left + right) / 2 / max(float(total[-1]), 1e-300)
    return share
