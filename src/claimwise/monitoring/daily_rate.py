"""One day's rate from a judge's scores of all claims and people's labels of a few.

A day has too few labels for an interval of its own; it needs none, since alarms measure how much
days differ. What it needs is a value that is right on average whatever the judge does, and that
scatters little: the difference estimator. Predictions come from labels of earlier days, so that the
day's own labels correct them without bias.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Finer towards both ends, where judges put most of their scores.
EDGES: Final = np.array([0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.98])
_CENTRES = np.array([0.025, 0.075, 0.15, 0.275, 0.425, 0.575, 0.725, 0.85, 0.925, 0.965, 0.99])

BANDS: Final = len(_CENTRES)
CALIBRATION_DAYS: Final = 28

# Until labels say otherwise a band holds what its scores promise: worth two labels.
_TRUST_IN_SCORES = 2.0


def find_bands(scores: Array) -> NDArray[np.intp]:
    """Return the band of every score: 0 for the lowest, ``BANDS - 1`` for the highest."""
    return np.digitize(scores, EDGES)


def predict_by_band(labels: Array, supported: Array) -> Array:
    """Return the share of supported claims to expect in every band.

    Args:
        labels: labels of earlier days by band (last axis), weighted.
        supported: those that say “supported”, likewise.
    """
    return np.asarray(
        (supported + _TRUST_IN_SCORES * _CENTRES) / (labels + _TRUST_IN_SCORES), dtype=np.float64
    )


def estimate_day(sizes: Array, labels: Array, supported: Array, predictions: Array) -> Array:
    """Return a day's rate of supported claims: what was predicted, corrected by the day's labels.

    Method: the difference estimator, mean(g) over all claims + weighted mean of (label - g) over
    labelled ones. A day without labels is not a number: there is nothing to correct by. The value
    may leave 0 to 1 by chance and is not cut off there, for that would bias it.

    Args:
        sizes: claims by band (last axis), weighted by how their answers were sampled.
        labels: labelled claims by band, weighted by how they were chosen.
        supported: those labelled “supported”, likewise.
        predictions: :func:`predict_by_band` on earlier days.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        predicted = (sizes * predictions).sum(axis=-1) / sizes.sum(axis=-1)
        correction = (supported - labels * predictions).sum(axis=-1) / labels.sum(axis=-1)
    return np.asarray(predicted + correction)
