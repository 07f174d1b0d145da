"""How far people's rate may lie from a judge's, by sets that both have labelled.

A judge that nobody checked on these answers may be too strict or too lenient for them, and no
number of claims shows it: the interval for sampling alone shrinks to a wrong rate. Sets that people
labelled show how far judge and people lay apart elsewhere; a new run is one more such set.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

from scipy import special

LEAST_SETS: Final = 5
"""Fewer sets say too little about the next one."""


class RatePair(NamedTuple):
    """The share of one set's claims that a judge calls supported, and the share by people."""

    judge: float
    people: float
    claims: int


class RateRange(NamedTuple):
    """Where people's rate may lie."""

    low: float
    high: float


def predict_people_rate(
    judge_rate: float,
    claims: int,
    sets: Sequence[RatePair],
    *,
    sampling: tuple[float, float] | None = None,
    confidence: float = 0.95,
) -> RateRange | None:
    """Return where people's rate may lie, given a judge's; None with fewer than five sets.

    Method: d = logit(people) - logit(judge) of every set; the next d is predicted by Student's t
    with k - 1 degrees of freedom, mean(d) ± t sqrt(s² (1 + 1/k) + v), where s is the standard
    deviation over the k sets and v the variance of the run's own logit, from its sampling
    interval. The range always holds the judge's own rate. Rates of 0 and 1 are drawn in by half a
    claim, so that their logits exist.

    Reference: Higgins, Thompson and Spiegelhalter (2009), J. R. Stat. Soc. A 172, 137-159,
    section 4: the prediction interval of a random-effects meta-analysis.
    """
    count = len(sets)
    if count < LEAST_SETS:
        return None
    gaps = [_logit(one.people, one.claims) - _logit(one.judge, one.claims) for one in sets]
    mean = sum(gaps) / count
    spread = sum((gap - mean) ** 2 for gap in gaps) / (count - 1)
    variance = spread * (1 + 1 / count) + _sampling_variance(sampling, claims, confidence)
    reach = float(special.stdtrit(count - 1, (1 + confidence) / 2)) * math.sqrt(variance)
    centre = _logit(judge_rate, claims) + mean
    low, high = special.expit([centre - reach, centre + reach])
    return RateRange(min(float(low), judge_rate), max(float(high), judge_rate))


def _logit(rate: float, claims: int) -> float:
    half = 0.5 / max(1, claims)
    return float(special.logit(min(1 - half, max(half, rate))))


def _sampling_variance(
    interval: tuple[float, float] | None, claims: int, confidence: float
) -> float:
    """Return the variance of a rate's logit that its sampling interval implies."""
    if interval is None:
        return 0.0
    width = _logit(interval[1], claims) - _logit(interval[0], claims)
    return (width / 2 / float(special.ndtri((1 + confidence) / 2))) ** 2
