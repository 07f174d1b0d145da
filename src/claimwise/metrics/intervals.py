"""Rates with honest intervals: items are the clusters, claims the units inside them.

Claims of one item tend to be right or wrong together, so a thousand claims from fifty items say
far less than a thousand independent claims. Everything here measures that loss (the design
effect), turns it into an effective number of independent units, and builds intervals on it. A
pooled (micro) rate and a mean of item rates (macro) use the same functions: pass the histogram
itself, or its `per_item_rates()`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, Literal, Protocol

import numpy as np
from scipy import special

from claimwise.metrics.bootstrap import bca_levels, resampled_rates
from claimwise.metrics.histogram import Histogram

PLANNING_ICC: Final = 0.3
"""Intraclass correlation assumed where data cannot show it; human-labelled sets have 0.28-0.50."""

UNSEEN_ICC: Final = 0.5
"""Assumed where no item holds a hit, or none a miss: nothing is seen, so the highest of those."""

FEW_INFORMATIVE: Final = 10
"""Below this many items with a hit (or with a miss) the design effect is partly assumed."""

FEW_ITEMS: Final = 30

_once_each = lru_cache(maxsize=4)  # all figures of a histogram are made before those of the next


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """A two-sided confidence interval for a rate.

    Attributes:
        low: Lower bound, at least 0 and at most the rate.
        high: Upper bound, at most 1 and at least the rate.
        method: Name of the method used, which says so when another one had to step in.
        confidence: Nominal coverage, for example 0.95.
    """

    low: float
    high: float
    method: str
    confidence: float


def rate(h: Histogram) -> float | None:
    """Return hits over units: the pooled rate, or None without items."""
    return h.hits / h.units if h.items else None


@_once_each
def variance(h: Histogram) -> float | None:
    """Estimate the sampling variance of the rate, items being the independent pieces.

    Method: linearisation of the ratio. With R = sum y / sum m and u = (y - R m) / mean(m), the
    variance is sum u^2 / (G (G - 1)) over G items; it has G - 1 degrees of freedom. Assumes
    independent items; sizes may vary and may be related to the rate. None below two items.

    Reference: Cochran (1977), Sampling Techniques, 3rd ed., section 6.3.
    """
    if h.items < 2:
        return None
    residuals = h.numerator - h.hits / h.units * h.denominator
    spread = float(h.clusters @ residuals**2)
    return spread * h.items / (h.items - 1) / h.units**2


def design_effect(h: Histogram) -> float | None:
    """Estimate how many times larger the variance is than with independent units.

    Method: `variance` over R (1 - R) / trials. None below two items and at a rate of 0 or 1,
    where there is no spread to measure.

    Reference: Kish (1965), Survey Sampling, section 8.2.
    """
    spread = variance(h)
    if spread is None or not 0 < h.hits < h.units:
        return None
    centre = h.hits / h.units
    return spread * h.trials / (centre * (1 - centre))


def intraclass_correlation(h: Histogram) -> float | None:
    """Estimate how alike units of one item are: 0 not at all, 1 identical.

    Method: solved from the design effect D = 1 + (b - 1) rho, where b is the item size that
    matters to it (mean size times 1 + squared variation of sizes for a pooled rate); not the
    ANOVA estimator. Held between -1 and 1. None where `design_effect` is None, and when every
    item has one unit, as nothing can be alike then.

    Reference: Kish (1965), Survey Sampling, section 5.4.
    """
    effect = design_effect(h)
    if effect is None or _weighted_size(h) <= 1:
        return None
    return max(-1.0, min(1.0, (effect - 1) / (_weighted_size(h) - 1)))


def planning_weight(h: Histogram) -> float:
    """Return how much of the design effect is assumed rather than measured, 0 to 1.

    It falls in a straight line from 1, when no item holds a hit (or none holds a miss), to 0 at
    ten such items; the rarer of the two counts. Without items it is 1.
    """
    informative = min(_items_with_hit(h), _items_with_miss(h))
    return max(0.0, 1 - informative / FEW_INFORMATIVE)


@_once_each
def effective_size(h: Histogram) -> float:
    """Return the number of independent units that the items are worth.

    Method: trials over the design effect, which is taken to be at least 1. When few items hold a
    hit, the measured design effect is mostly luck: items that are wrong throughout are rare, and
    a sample that missed them looks far too precise. It is then averaged with the one that
    `PLANNING_ICC` implies, by `planning_weight`; what is assumed never lowers what was measured.
    At a rate of 0 or 1, and with one item, what is assumed is all there is: there it is
    `UNSEEN_ICC`, or a system with a few answers that are all wrong, none of which was drawn, would
    seem better than it is. Without items: 0.

    Reference: Kish (1965), section 8.2; Franco, Little, Louis & Slud (2019), Journal of Survey
    Statistics and Methodology 7, 334-364, who find that intervals for clustered rates fail by the
    purely measured design effect and are fixed by modelling it.
    """
    if not h.items:
        return 0.0
    measured = design_effect(h)
    if measured is None:
        return h.trials / max(1.0, _plan_effect(h, UNSEEN_ICC))
    planned = _plan_effect(h, PLANNING_ICC)
    weight = planning_weight(h)
    return h.trials / max(1.0, measured, weight * planned + (1 - weight) * measured)


@_once_each
def degrees_of_freedom(h: Histogram) -> float:
    """Return the degrees of freedom of the measured spread, for Student's t.

    Method: Satterthwaite's 2 / (1/c - 1/G), with c the items that carry the spread (`carried_by`),
    at most G - 1. A few items that are all wrong carry most of it, and a spread that rests on a
    handful is itself unsure. As far as the spread is assumed (`planning_weight`), there is no luck
    in it: that share counts G - 1. At least 1.

    c itself was tried in its place: the mean coverage with independent items then is beyond 97 %
    (benchmarks/coverage.py), and where a few items carry all, nothing is gained.

    Reference: Satterthwaite (1946), Biometrics Bulletin 2, 110-114.
    """
    most, carried = h.items - 1.0, carried_by(h)
    measured = most if carried >= most else min(most, 2 / (1 / carried - 1 / h.items))
    weight = planning_weight(h)
    return max(1.0, weight * most + (1 - weight) * measured)


def carried_by(h: Histogram) -> float:
    """Return how many items carry the measured spread: (sum r)^2 / sum r^2, r squared residuals.

    All but one where the spread is even, or there is none.
    """
    if not h.items:
        return 0.0
    residuals = (h.numerator - h.hits / h.units * h.denominator) ** 2
    spread, squares = float(h.clusters @ residuals), float(h.clusters @ residuals**2)
    return min(h.items - 1.0, spread**2 / squares) if squares else h.items - 1.0


def wilson_interval(h: Histogram, confidence: float = 0.95) -> Interval | None:
    """Return the default interval: Wilson's, on the effective size, with Student's t.

    Assumes independent items. A rate of 0 or 1 gets a real interval, one item gets [0, 1] because
    it says nothing about others, and no items give None.

    Reference: Wilson (1927), JASA 22, 209-212; on the effective size, Franco et al. (2019).
    """
    return _unless_trivial(h, confidence, "wilson", _wilson)


def wilson_bounds(centre: float, size: float, quantile: float) -> tuple[float, float]:
    """Return Wilson's bounds of a rate from so many independent units; 0 and 1 are fine."""
    pull = quantile**2 / size
    middle = (centre + pull / 2) / (1 + pull)
    half = math.sqrt(pull * centre * (1 - centre) + pull**2 / 4) / (1 + pull)
    return middle - half, middle + half


def logit_t_interval(h: Histogram, confidence: float = 0.95) -> Interval | None:
    """Return a t interval on the log-odds scale, with the spread of the effective size.

    Assumes independent items. The log-odds of 0 and 1 are infinite: there the default steps in
    and the method name says so. One item gets [0, 1], no items None.

    Reference: Korn & Graubard (1999), Analysis of Health Surveys, section 3.2.
    """
    return _unless_trivial(h, confidence, "logit-t", _logit_t)


def korn_graubard_interval(h: Histogram, confidence: float = 0.95) -> Interval | None:
    """Return the exact binomial interval on the effective size, which errs on the wide side.

    Both bounds are `korn_graubard_bound` with half the error each, and share its assumptions. One
    item gets [0, 1], no items None.
    """
    return _unless_trivial(h, confidence, "korn-graubard", _korn_graubard)


def korn_graubard_bound(
    h: Histogram, confidence: float = 0.95, side: Literal["lower", "upper"] = "upper"
) -> float | None:
    """Return a one-sided bound for decisions: the rate is below (or above) it, with confidence.

    Method: Clopper-Pearson on n* = n_e (z / t)^2 units, where n_e is the effective size. All the
    error lies on one side, so z and t (`degrees_of_freedom`) are both taken at `confidence` itself.
    Assumes independent items. One item gives the trivial bound 0 or 1, no items None.

    Reference: Korn & Graubard (1998), Survey Methodology 24, 193-201.
    """
    _check_share("confidence", confidence)
    if not h.items:
        return None
    if h.items == 1:
        return float(side == "upper")
    return _exact_bound(h, confidence, side)


def bootstrap_interval(
    h: Histogram,
    confidence: float = 0.95,
    kind: Literal["percentile", "bca"] = "percentile",
    resamples: int = 2000,
    seed: int = 0,
) -> Interval | None:
    """Return a cluster bootstrap interval: whole items are resampled, from the histogram.

    Assumes independent items, and enough of them with hits that resampling shows the spread;
    with few it is too narrow, which is why it is no default. If all items have the same rate
    (0 or 1 included) resampling shows nothing: the default steps in and the method name says
    so. One item gets [0, 1], no items None.

    Reference: Efron & Tibshirani (1993), An Introduction to the Bootstrap, chapters 13 and 14.
    """
    if resamples < 2:
        raise ValueError(f"resamples is {resamples}; at least 2 are needed")

    def bounds(h: Histogram, confidence: float) -> tuple[float, float] | None:
        if np.ptp(h.numerator / h.denominator) == 0:
            return None
        rates = resampled_rates(h, resamples=resamples, seed=seed)
        tails = ((1 - confidence) / 2, (1 + confidence) / 2)
        levels = bca_levels(h, rates, tails) if kind == "bca" else tails
        low, high = np.quantile(rates, levels)
        return float(low), float(high)

    return _unless_trivial(h, confidence, f"bootstrap-{kind}", bounds)


class IntervalMethod(Protocol):
    """What every entry of `INTERVALS` can be called with."""

    def __call__(
        self, h: Histogram, *, confidence: float, resamples: int, seed: int
    ) -> Interval | None:
        """Return the interval; analytic methods do not look at `resamples` and `seed`."""


def _analytic(method: Callable[[Histogram, float], Interval | None]) -> IntervalMethod:
    def call(h: Histogram, *, confidence: float, resamples: int, seed: int) -> Interval | None:
        return method(h, confidence)

    return call


def _resampling(kind: Literal["percentile", "bca"]) -> IntervalMethod:
    def call(h: Histogram, *, confidence: float, resamples: int, seed: int) -> Interval | None:
        return bootstrap_interval(h, confidence, kind, resamples, seed)

    return call


INTERVALS: Final[dict[str, IntervalMethod]] = {
    "wilson": _analytic(wilson_interval),
    "logit-t": _analytic(logit_t_interval),
    "korn-graubard": _analytic(korn_graubard_interval),
    "bootstrap-percentile": _resampling("percentile"),
    "bootstrap-bca": _resampling("bca"),
}
"""Interval methods by the name a user gives; the first is the default."""


def simultaneous_confidence(confidence: float, slices: int) -> float:
    """Return the confidence each of `slices` intervals needs so that all hold together.

    Method: Bonferroni, which assumes nothing about how slices depend on each other. With one
    slice, `confidence` itself.
    """
    _check_share("confidence", confidence)
    if slices < 1:
        raise ValueError(f"slices is {slices}; at least 1 is needed")
    return 1 - (1 - confidence) / slices


def detectable_difference(
    h: Histogram,
    *,
    power: float = 0.8,
    confidence: float = 0.95,
    paired_correlation: float | None = None,
) -> float | None:
    """Return the smallest change of the rate that a second run of this size would show.

    Method: (t_confidence + t_power) times the standard error of the difference of two such
    rates, each rate pulled towards one half as Wilson does (by z²), so that 0 and 1 have a spread
    too. Assumes
    that the second run has as many items of the same kind. None below two items.

    Args:
        h: The run at hand.
        power: Chance of seeing a change of that size.
        confidence: Confidence of the two-sided comparison.
        paired_correlation: Correlation between both runs' results on one item, if they share
            items; None for runs on different items.

    Reference: Cohen (1988), Statistical Power Analysis, chapter 6; Miller (2024),
    arXiv:2411.00640, section 5.
    """
    _check_share("confidence", confidence)
    _check_share("power", power)
    if paired_correlation is not None and not -1 <= paired_correlation < 1:
        raise ValueError(f"paired_correlation is {paired_correlation}; expected -1 <= r < 1")
    if h.items < 2:
        return None
    paired = paired_correlation is not None
    freedom = (h.items - 1) * (1 if paired else 2)
    size = effective_size(h)
    pull = float(special.ndtri((1 + confidence) / 2)) ** 2
    centre = (h.hits / h.units * size + pull / 2) / (size + pull)
    error = math.sqrt(2 * (1 - (paired_correlation or 0.0)) * centre * (1 - centre) / size)
    reach = special.stdtrit(freedom, (1 + confidence) / 2) + special.stdtrit(freedom, power)
    return min(1.0, float(reach) * error)


def warnings_for(
    h: Histogram, *, bad: Literal["numerator", "complement"] | None = "numerator"
) -> tuple[str, ...]:
    """Say in plain sentences where the figures rest on little.

    Args:
        h: The items behind a figure; one item and none are fine.
        bad: Whether bad outcomes are the hits or the rest; None when neither is bad.
    """
    if not h.items:
        return ("No scored claims.",)
    hits, misses = _items_with_hit(h), _items_with_miss(h)
    carriers = {"numerator": hits, "complement": misses, None: FEW_INFORMATIVE}[bad]
    found = []
    if h.items < FEW_ITEMS:
        found.append(f"Fewer than {FEW_ITEMS} items ({h.items}): the range is rough.")
    if carriers < FEW_INFORMATIVE:
        found.append(
            f"Fewer than {FEW_INFORMATIVE} items with a bad outcome ({carriers}): "
            "how claims cluster is partly assumed."
        )
    elif h.items >= FEW_ITEMS and carried_by(h) < FEW_INFORMATIVE:
        found.append(
            f"A handful of items carries the variance (about {carried_by(h):.0f} of {h.items:,}): "
            "another sample may look quite different."
        )
    return tuple(found)


def _items_with_hit(h: Histogram) -> int:
    return int(h.clusters[h.numerator > 0].sum())


def _items_with_miss(h: Histogram) -> int:
    return int(h.clusters[h.numerator < h.denominator].sum())


def _weighted_size(h: Histogram) -> float:
    """Return trials per item, where unequal weights count as fewer items (Kish)."""
    return h.trials * float(h.clusters @ h.denominator**2) / h.units**2


def _plan_effect(h: Histogram, icc: float) -> float:
    """Return the design effect that an intraclass correlation gives items of these sizes."""
    return 1 + (_weighted_size(h) - 1) * icc


def _check_share(name: str, value: float) -> None:
    if not 0 < value < 1:
        raise ValueError(f"{name} is {value}; expected a number between 0 and 1, such as 0.95")


def _unless_trivial(
    h: Histogram,
    confidence: float,
    name: str,
    bounds: Callable[[Histogram, float], tuple[float, float] | None],
) -> Interval | None:
    """Handle what all methods share: few items, an undefined method, and the ends 0 and 1."""
    _check_share("confidence", confidence)
    centre = rate(h)
    if centre is None:
        return None
    if h.items == 1:
        return Interval(low=0.0, high=1.0, method=f"{name} (one item)", confidence=confidence)
    found = bounds(h, confidence)
    if found is None:
        name, found = f"wilson (items too alike for {name})", _wilson(h, confidence)
    low, high = found
    # Rounding may push a bound past its end, and a small bootstrap may miss the rate itself.
    return Interval(
        low=max(0.0, min(low, centre)),
        high=min(1.0, max(high, centre)),
        method=name,
        confidence=confidence,
    )


def _student(h: Histogram, level: float) -> float:
    return float(special.stdtrit(degrees_of_freedom(h), level))


def _wilson(h: Histogram, confidence: float) -> tuple[float, float]:
    return wilson_bounds(h.hits / h.units, effective_size(h), _student(h, (1 + confidence) / 2))


def _logit_t(h: Histogram, confidence: float) -> tuple[float, float] | None:
    centre = h.hits / h.units
    if not 0 < h.hits < h.units:
        return None
    error = 1 / math.sqrt(effective_size(h) * centre * (1 - centre))
    half = _student(h, (1 + confidence) / 2) * error
    odds = special.logit(centre)
    return float(special.expit(odds - half)), float(special.expit(odds + half))


def _korn_graubard(h: Histogram, confidence: float) -> tuple[float, float]:
    level = (1 + confidence) / 2
    return _exact_bound(h, level, "lower"), _exact_bound(h, level, "upper")


def _exact_bound(h: Histogram, level: float, side: Literal["lower", "upper"]) -> float:
    size = effective_size(h) * (float(special.ndtri(level)) / _student(h, level)) ** 2
    hits = size * h.hits / h.units
    misses = size * (h.units - h.hits) / h.units
    if side == "lower":
        return float(special.betaincinv(hits, misses + 1, 1 - level)) if hits else 0.0
    return float(special.betaincinv(hits + 1, misses, level)) if misses else 1.0
