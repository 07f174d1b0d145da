"""A run's rate from an instrument's verdicts on all claims and people's labels on some.

An instrument's verdicts cut a run's claims into strata of known size. People label some claims of
each, and the rate is the sum of the strata's shares, each weighed by its size: whatever the
instrument gets wrong, the labels put right. What the instrument knows only makes it precise.

A correction belongs to the claims that it was drawn from. Error rates carried over from other
data made the rate worse in 10 of 11 data sets where that was tried, so nothing here takes labels
of one run to another.

Reference: Cochran (1977), Sampling Techniques, sections 5.3 and 12.2 (double sampling for
stratification); Brown, Cai & DasGupta (2001), Statistical Science 16, 101-133, on Jeffreys'
prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import effective_size, wilson_bounds

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, slots=True)
class StratumLabel:
    """A labelled claim of a stratum; ``group`` is the instrument's verdict on it."""

    stratum: str
    item_id: str
    supported: bool
    group: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class StratifiedRate:
    """The rate, its interval, and strata that nobody has labelled a claim of."""

    value: float
    low: float
    high: float
    empty: tuple[str, ...]


def estimate_stratified(
    sizes: Mapping[str, int],
    labels: Sequence[StratumLabel],
    verdicts: Mapping[str, Mapping[str | None, int]],
    *,
    confidence: float = 0.95,
) -> StratifiedRate | None:
    """Estimate a rate from strata of known sizes and labels in them.

    Method: the rate is sum W p, with W a stratum's share of the claims and p its share of
    supported labels. Its spread over items is that of
    sum over an item's claims of (q - mean q) + (y - p) / chance, with q the share of supported
    claims among those of the same verdict: claims of an item resemble each other in both parts,
    within strata and across them. Where few labels of a stratum differ, that spread is mostly
    luck, so it is never below that of Jeffreys' posterior on the strata's effective sizes, which
    is not zero when all labels of a stratum agree. The spread says how many independent claims
    the labels are worth; Wilson's interval with Student's t for the number of labelled items is
    built on that. A stratum without labels could hold anything: it counts as one half, and
    Jeffreys' posterior is as wide as can be.

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
    low, high = wilson_bounds(value, centre * (1 - centre) / spread, quantile)
    return StratifiedRate(
        value=value,
        low=max(0.0, min(low, value)),
        high=min(1.0, max(high, value)),
        empty=tuple(name for name, held in zip(names, strata, strict=True) if not held),
    )


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
