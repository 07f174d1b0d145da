"""A run's rate from an instrument's verdicts on all claims and people's labels on some.

An instrument's verdicts cut a run's claims into strata of known size. People label some claims of
each, and the rate is the sum of the strata's shares, each weighed by its size: whatever the
instrument gets wrong, the labels put right. What the instrument knows only makes it precise.

A correction belongs to the claims that it was drawn from. Error rates carried over from other
data made the rate worse in 10 of 11 data sets where that was tried, so nothing here takes labels
of one run to another.

Reference: Cochran (1977), Sampling Techniques, sections 5.3 and 12.2 (double sampling for
stratification); Brown, Cai & DasGupta (2001), Statistical Science 16, 101-133, on Jeffreys'
prior; Kish (1965), Survey Sampling, section 11.7, on unequal weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import effective_size, wilson_bounds, wilson_interval

Floats = NDArray[np.float64]

FEW_LABELS: Final = 60
"""Below this many, strata hold so few labels that their verdicts may cost more than they give."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StratumLabel:
    """A labelled claim of a stratum; ``group`` is the instrument's verdict on it."""

    stratum: str
    item_id: str
    supported: bool
    group: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StratifiedRate:
    """The rate, its interval and what that rests on, and strata without any label."""

    value: float
    low: float
    high: float
    empty: tuple[str, ...]
    range_from: Literal["verdicts", "labels"] = "verdicts"
    other_width: float | None = None  # of the interval that was not taken, where there were two


def estimate_stratified(
    sizes: Mapping[str, int],
    labels: Sequence[StratumLabel],
    verdicts: Mapping[str, Mapping[str | None, int]],
    *,
    confidence: float = 0.95,
) -> StratifiedRate | None:
    """Estimate a rate from strata of known sizes and labels in them.

    Method: the rate is sum W p, with W a stratum's share of the claims and p its share of
    supported labels. There are two intervals for it. One uses the verdicts (`_bound_by_verdicts`),
    the other the labels alone, each counted for the claims that it was drawn from
    (`_bound_by_labels`). The first is the narrower one, unless strata hold a few labels each: then
    what has to be assumed of every stratum adds up. So below `FEW_LABELS` labels the narrower of
    the two is taken. Both are intervals of the same rate, so the choice can't prefer one that
    looks better; benchmarks/calibration.py measures how often the chosen one holds the truth. A
    stratum without labels could hold anything: it counts as one half, and labels alone say nothing
    of it.

    Args:
        sizes: the claims of every stratum, labelled or not.
        labels: the labelled claims.
        verdicts: all claims of the run, by item and verdict; empty when there are none.
        confidence: of the interval.

    Returns:
        The estimate, or None without labels.
    """
    total = sum(sizes.values())
    if not labels or not total:
        return None
    names = [name for name, size in sizes.items() if size]
    weights = np.array([sizes[name] / total for name in names])
    strata = [[one for one in labels if one.stratum == name] for name in names]
    shares = np.array([np.mean([o.supported for o in held]) if held else 0.5 for held in strata])
    value = float(weights @ shares)
    empty = tuple(name for name, held in zip(names, strata, strict=True) if not held)
    low, high = _bound_by_verdicts(sizes, labels, verdicts, (value, weights, strata), confidence)
    range_from: Literal["verdicts", "labels"] = "verdicts"
    other = None
    if len(labels) < FEW_LABELS and not empty:
        alone = _bound_by_labels(sizes, labels, confidence)
        other = alone[1] - alone[0]
        if other < high - low:
            range_from, other, (low, high) = "labels", high - low, alone
    return StratifiedRate(
        value=value,
        low=max(0.0, min(low, value)),
        high=min(1.0, max(high, value)),
        empty=empty,
        range_from=range_from,
        other_width=other,
    )


def _bound_by_verdicts(
    sizes: Mapping[str, int],
    labels: Sequence[StratumLabel],
    verdicts: Mapping[str, Mapping[str | None, int]],
    stratified: tuple[float, Floats, Sequence[Sequence[StratumLabel]]],
    confidence: float,
) -> tuple[float, float]:
    """Return an interval that uses what the instrument says of every claim.

    The rate's spread over items is that of
    sum over an item's claims of (q - mean q) + (y - p) / chance, with q the share of supported
    claims among those of the same verdict: claims of an item resemble each other in both parts,
    within strata and across them. Where few labels of a stratum differ, that spread is mostly
    luck, so it is never below that of Jeffreys' posterior on the strata's effective sizes, which
    is not zero when all labels of a stratum agree. The spread says how many independent claims
    the labels are worth; Wilson's interval with Student's t for the number of labelled items is
    built on that. Without labels of a stratum, Jeffreys' posterior is as wide as can be.
    """
    value, weights, strata = stratified
    shares = np.array([np.mean([o.supported for o in held]) if held else 0.5 for held in strata])
    parts = _spread_verdicts(sizes, labels, verdicts)
    middles, variances = _assume(strata, shares)
    spread = max(
        _sum_squares(_add_residuals(sizes, labels, parts)),
        float(weights**2 @ variances) + _sum_squares(parts),
    )
    # At 0 and 1 the labels show no spread at all: Jeffreys' middle has one.
    centre = value if 0 < value < 1 else float(weights @ middles)
    items = len({one.item_id for one in labels})
    quantile = float(special.stdtrit(max(1, items - 1), (1 + confidence) / 2))
    return wilson_bounds(value, centre * (1 - centre) / spread, quantile)


def _bound_by_labels(
    sizes: Mapping[str, int], labels: Sequence[StratumLabel], confidence: float
) -> tuple[float, float]:
    """Return the default interval of the labels alone, each weighing as much as it stands for.

    Unequal weights make labels worth less: (sum w)^2 / sum w^2 of them (Kish).
    """
    counts = _count(labels)
    items: dict[str, list[float]] = {}
    total = squares = 0.0
    for one in labels:
        weight = sizes[one.stratum] / counts[one.stratum][1]
        held = items.setdefault(one.item_id, [0.0, 0.0])
        held[0] += weight * one.supported
        held[1] += weight
        total, squares = total + weight, squares + weight**2
    hits, units = zip(*items.values(), strict=True)
    # Sums of weights round: an item of supported claims alone must not have more hits than units.
    counted = Histogram.from_clusters(np.minimum(hits, units), units)
    found = wilson_interval(replace(counted, trials=total**2 / squares), confidence)
    assert found is not None  # there are labels
    return found.low, found.high


def _assume(strata: Sequence[Sequence[StratumLabel]], shares: Floats) -> tuple[Floats, Floats]:
    """Return the mean and the variance of every stratum's share under Jeffreys' posterior."""
    worth = np.array([_measure_worth(held) for held in strata])
    hits, misses = worth * shares + 0.5, worth * (1 - shares) + 0.5
    both = hits + misses
    return hits / both, hits * misses / (both**2 * (both + 1))


def _measure_worth(held: Sequence[StratumLabel]) -> float:
    """Return the number of independent labels that those of a stratum are worth."""
    if not held:
        return 0.0
    counted: dict[str, list[int]] = {}
    for one in held:
        pair = counted.setdefault(one.item_id, [0, 0])
        pair[0] += one.supported
        pair[1] += 1
    return effective_size(Histogram.from_pairs((y, m, 1) for y, m in counted.values()))


def _add_residuals(
    sizes: Mapping[str, int], labels: Sequence[StratumLabel], parts: Mapping[str, float]
) -> dict[str, float]:
    """Add to every item's part what its labels are beyond the shares of their strata."""
    total = sum(sizes.values())
    counts = _count(labels)
    found = dict(parts)
    for one in labels:
        hits, held = counts[one.stratum]
        # A stratum's share was fitted to its own labels: the root makes up for it.
        scale = sizes[one.stratum] / held * sqrt(held / max(1, held - 1))
        residual = scale * (one.supported - hits / held) / total
        found[one.item_id] = found.get(one.item_id, 0.0) + residual
    return found


def _count(labels: Sequence[StratumLabel]) -> dict[str, list[int]]:
    """Count supported labels and labels by stratum."""
    counts: dict[str, list[int]] = {}
    for one in labels:
        held = counts.setdefault(one.stratum, [0, 0])
        held[0] += one.supported
        held[1] += 1
    return counts


def _sum_squares(parts: Mapping[str, float]) -> float:
    """Return the variance of a sum over items, from what each adds to it."""
    items = len(parts)
    return items / (items - 1) * sum(part**2 for part in parts.values()) if items > 1 else 0.0


def _spread_verdicts(
    sizes: Mapping[str, int],
    labels: Sequence[StratumLabel],
    verdicts: Mapping[str, Mapping[str | None, int]],
) -> dict[str, float]:
    """Return what every item adds by its verdicts alone, beyond what an average one would."""
    counts = _count(labels)
    sums: dict[str | None, list[float]] = {}
    for one in labels:
        weight = sizes[one.stratum] / counts[one.stratum][1]
        held = sums.setdefault(one.group, [0.0, 0.0])
        held[0] += weight * one.supported
        held[1] += weight
    claims = sum(sum(given.values()) for given in verdicts.values())
    whole = sum(held[0] for held in sums.values()) / sum(held[1] for held in sums.values())
    shares = {group: held[0] / held[1] for group, held in sums.items()}
    predicted = {
        item: sum(count * shares.get(group, whole) for group, count in given.items())
        for item, given in verdicts.items()
    }
    mean = sum(predicted.values()) / claims if claims else 0.0
    return {
        item: (predicted[item] - mean * sum(given.values())) / claims
        for item, given in verdicts.items()
    }
