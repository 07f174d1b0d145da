"""Evidence that adds up over days, so that looking every day costs no false alarms.

The statistic is an e-SR (Shiryaev-Roberts with e-values): M = (M + 1) * e after every look, where e
is a bet against “nothing got worse”. While nothing has, the expected time until M first reaches A
is at least A looks, however often one looks. A value far on the wrong side lets M grow by a factor
a day; on the right side it shrinks towards 0, so that old luck is forgotten.

Everything works on one stream or on many at once (numpy arrays): the benchmark lives through
hundreds of years with the functions of the product. The last axis of a state holds one M per bet.

References: Shin, Ramdas & Rinaldo (2023), E-detectors; Waudby-Smith & Ramdas (2024), Estimating
means of bounded random variables by betting; Pollak (1985) for the Shiryaev-Roberts rule.
"""

from __future__ import annotations

from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Direction = Literal["down", "up", "both"]

SHIFTS: Final = (0.02, 0.04, 0.07)
"""The changes that bets are placed on, beyond what is tolerated; the mean over them counts."""

TWENTY_YEARS_OF_DAYS: Final = 7300.0
TEN_YEARS_OF_WEEKS: Final = 520.0

TOLERATED: Final = 0.01
"""A change of one point is not worth an alarm."""

BASELINE_DAYS: Final = 28
SPREAD_DAYS: Final = 56
SPREAD_CAUTION: Final = 1.1

# Far beyond every threshold: keeps a stream that goes on after its alarm within floating point.
_MOST = 1e15

# A single day counts as at most this many standard deviations: days are not quite normal, and one
# freak day is no trend. Without it false alarms are five times as frequent; drops take as long.
_FARTHEST = 3.5

# Bets on single labels, as shares of the largest stake that can never lose all.
_STAKES = (0.25, 0.5, 0.9)


def start_state(direction: Direction = "down", bets: int = len(SHIFTS)) -> Array:
    """Return the state before the first look: no evidence."""
    return np.zeros(bets * (2 if direction == "both" else 1))


def advance_by_day(
    state: Array,
    value: float | Array,
    baseline: float | Array,
    spread: float | Array,
    *,
    direction: Direction = "down",
    tolerated: float = TOLERATED,
) -> Array:
    """Take one day's (or week's) value into the evidence that it has moved from the baseline.

    Method: e = exp(b x / s^2 - b^2 / (2 s^2)) for every shift b, where x is how far the value lies
    beyond the tolerated change, at most 3.5 s, and s is the standard deviation of one day's value.
    It is an e-value for normal values; daily means over a hundred answers are near enough
    (`benchmarks/alarms.py`). Days without a value get no call.

    Args:
        state: what the last call returned, or :func:`start_state`.
        value: the day's value.
        baseline: the value that it should have.
        spread: the standard deviation of a day's value, above 0.
        direction: which change counts; “both” needs a state made for it.
        tolerated: a change up to this one is none.
    """
    change = np.asarray(value - baseline, dtype=np.float64)[..., None]
    deviation = np.asarray(spread, dtype=np.float64)[..., None]
    shifts = np.asarray(SHIFTS)
    gains = [
        (shifts * np.minimum(one - tolerated, _FARTHEST * deviation) - shifts**2 / 2) / deviation**2
        for one in {"down": (-change,), "up": (change,), "both": (-change, change)}[direction]
    ]
    return _grow(state, np.exp(np.concatenate(gains, axis=-1)))


def advance_by_label(
    state: Array, value: float | Array, limit: float | Array, largest: float | Array
) -> Array:
    """Take one label into the evidence that the rate is below a limit.

    Method: e = 1 + k (limit - value) for every stake k; its expectation is at most 1 whenever the
    value's is at least the limit, whatever its distribution, so that the promise holds exactly for
    labels of independent items. The value is the label itself (0 or 1), or the label corrected by a
    judge: the mean of the judge's predictions + label - prediction.

    Args:
        state: what the last call returned, or :func:`start_state`.
        value: the label's value.
        limit: the rate below which an alarm is wanted.
        largest: the largest value that could have come, above the limit.
    """
    short = np.asarray(limit - value, dtype=np.float64)[..., None]
    worst = np.asarray(largest - limit, dtype=np.float64)[..., None]
    return _grow(state, 1 + np.asarray(_STAKES) / worst * short)


def _grow(state: Array, evidence: Array) -> Array:
    """Return the next state: M = (M + 1) e for every bet."""
    return np.asarray(np.minimum((state + 1) * evidence, _MOST))


def weigh_state(state: Array) -> Array:
    """Return the statistic that is compared with the threshold: the mean over all bets."""
    return np.asarray(state.mean(axis=-1))


def find_spread(values: Array, least: float | Array = 0.0) -> Array:
    """Estimate the standard deviation of one day's value from day-to-day differences.

    Method: 1.1 times the standard deviation of the differences of neighbours, over the square root
    of 2, on the last 56 values. A lasting change moves one difference only, so that it does not
    hide itself; a weekday cycle moves many, and counts. Days without a value are left out.

    Args:
        values: days on the last axis, at least 3.
        least: never less than this; values that do not vary at all would make any change infinite.
    """
    recent = values[..., -SPREAD_DAYS:]
    differences = np.diff(recent, axis=-1)
    found = SPREAD_CAUTION * differences.std(axis=-1, ddof=1) / np.sqrt(2)
    return np.asarray(np.maximum(found, least))
