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
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import effective_size, wilson_bounds, wilson_interval
from claimwise.metrics.weights import scale_factors

Floats = NDArray[np.float64]

FEW_LABELS: Final = 60
"""Below this many, strata hold so few labels that their verdicts may cost more than they give."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StratumLabel:
    """A labelled claim of a stratum; ``group`` is the instrument's verdict on it.

    ``factor`` is what its item counts for, where items don't count alike.
    """

    stratum: str
    item_id: str
    supported: bool
    group: str | None = None
    factor: float = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class StratifiedRate:
    """The rate, its interval and what that rests on, and strata without any label."""

    value: float
    low: float
    high: float
    empty: tuple[str, ...]
    range_from: Literal["verdicts", "labels"] = "verdicts"
    other_width: float | None = None  # of the interval that was not taken, where there were two


class _Sample(NamedTuple):
    """Labelled claims, the strata that they lie in, and what each label stands for."""

    names: list[str]  # of strata with claims
    shares: Floats  # of the claims, by stratum
    labels: Sequence[StratumLabel]
    places: NDArray[np.intp]  # the stratum of each label
    supported: Floats
    stands: Floats  # how many claims each stands for, by what those count for
    expected: Floats  # what an average label of its kind says

    @property
    def held(self) -> NDArray[np.intp]:
        """How many labels every stratum has."""
        return np.bincount(self.places, minlength=len(self.names))

    @property
    def rates(self) -> Floats:
        """The share of supported claims of every stratum; one half without any label."""
        hits, stands = (
            np.bincount(self.places, column, minlength=len(self.names))
            for column in (self.stands * self.supported, self.stands)
        )
        found = np.full(len(self.names), 0.5)
        np.divide(hits, stands, out=found, where=stands > 0)
        return found


def estimate_stratified(
    sizes: Mapping[str, int],
    labels: Sequence[StratumLabel],
    verdicts: Mapping[str, Mapping[str | None, float]],
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

    Where items don't count alike, a label counts for its item's factor too, and labels of one
    verdict together for what all claims of that verdict do (`_weigh_labels`).

    Args:
        sizes: the claims of every stratum, labelled or not.
        labels: the labelled claims.
        verdicts: all claims of the run, by item and verdict, each by its item's factor; empty when
            there are none.
        confidence: of the interval.

    Returns:
        The estimate, or None without labels, and where all of them count for nothing.
    """
    sample = _weigh_labels(sizes, labels, verdicts)
    if sample is None:
        return None
    # Shares round: where all claims are supported, the rate must be 1 and not nearly so.
    value = float(sample.shares @ sample.rates / (sample.shares @ np.ones(len(sample.names))))
    empty = tuple(name for name, held in zip(sample.names, sample.held, strict=True) if not held)
    low, high = _bound_by_verdicts(sample, verdicts, value, confidence)
    range_from: Literal["verdicts", "labels"] = "verdicts"
    other = None
    if len(labels) < FEW_LABELS and not empty:
        alone = _bound_by_labels(sample, confidence)
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


def _weigh_labels(
    sizes: Mapping[str, int],
    labels: Sequence[StratumLabel],
    verdicts: Mapping[str, Mapping[str | None, float]],
) -> _Sample | None:
    """Return the labels with what each stands for: claims of its stratum over its labels.

    Where items don't count alike, that is multiplied by the item's factor. What the claims of a
    stratum count for is then known of those with a label alone, and of all claims by verdict: the
    labels of a verdict are scaled to that (Deville & Särndal, 1992, JASA 87, 376-382). None without
    anything that counts.
    """
    total, factors = sum(sizes.values()), np.array([one.factor for one in labels])
    if not total or not factors.any():
        return None
    names = [name for name, size in sizes.items() if size]
    places = np.array([names.index(one.stratum) for one in labels])
    held = np.bincount(places, minlength=len(names))
    claims = np.array([sizes[name] for name in names], dtype=np.float64)
    supported = np.array([one.supported for one in labels], dtype=np.float64)
    sample = _Sample(
        names, claims / total, labels, places, supported, (claims / np.maximum(1, held))[places],
        np.zeros(0),
    )  # fmt: skip
    if (factors == 1).all():
        return sample._replace(expected=sample.rates[places])
    groups = [one.group if verdicts else None for one in labels]
    stands = _scale_to_verdicts(sample.stands * factors, groups, verdicts)
    expected = _average(groups, stands, supported)
    unseen = sample.shares[held == 0].sum()
    shares = np.bincount(places, stands, minlength=len(names)) / stands.sum() * (1 - unseen)
    shares = np.where(held == 0, sample.shares, shares)
    return sample._replace(shares=shares, stands=stands, expected=expected)


def _scale_to_verdicts(
    stands: Floats,
    groups: Sequence[str | None],
    verdicts: Mapping[str, Mapping[str | None, float]],
) -> Floats:
    """Return what labels stand for, so that those of each verdict add up to its claims."""
    totals: dict[str | None, float] = {}
    for given in verdicts.values():
        for group, count in given.items():
            totals[group] = totals.get(group, 0.0) + count
    found = stands.copy()
    for group in set(groups):
        inside = np.array([one == group for one in groups])
        known = stands[inside].sum()
        if known and totals.get(group):
            found[inside] *= totals[group] / known
    return found


def _average(groups: Sequence[str | None], stands: Floats, supported: Floats) -> Floats:
    """Return for every label the share of supported claims among labels of its group."""
    found = np.zeros(len(groups))
    for group in set(groups):
        inside = np.array([one == group for one in groups])
        known = stands[inside].sum()
        found[inside] = (stands * supported)[inside].sum() / known if known else 0.0
    return found


def _bound_by_verdicts(
    sample: _Sample,
    verdicts: Mapping[str, Mapping[str | None, float]],
    value: float,
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
    parts = _spread_verdicts(sample, verdicts)
    middles, variances = _assume(sample)
    spread = max(
        _sum_squares(_add_residuals(sample, parts)),
        float(sample.shares**2 @ variances) + _sum_squares(parts),
    )
    # At 0 and 1 the labels show no spread at all: Jeffreys' middle has one.
    centre = value if 0 < value < 1 else float(sample.shares @ middles)
    items = len({one.item_id for one in sample.labels})
    quantile = float(special.stdtrit(max(1, items - 1), (1 + confidence) / 2))
    size = centre * (1 - centre) / spread
    if not 0 < value < 1:  # where all labels agree, strata have shown no gain over labels alone
        size = min(size, effective_size(_count_all(sample)))
    return wilson_bounds(value, size, quantile)


def _bound_by_labels(sample: _Sample, confidence: float) -> tuple[float, float]:
    """Return the default interval of the labels alone, each weighing as much as it stands for.

    Unequal weights make labels worth less: (sum w)^2 / sum w^2 of them (Kish).
    """
    found = wilson_interval(_count_all(sample), confidence)
    assert found is not None  # there are labels
    return found.low, found.high


def _count_all(sample: _Sample) -> Histogram:
    return _count(sample, np.ones(len(sample.labels), dtype=bool))


def _count(sample: _Sample, inside: NDArray[np.bool_]) -> Histogram:
    """Count labels by item, each for what it stands for: together what they are worth."""
    weights = scale_factors(sample.stands[inside], np.ones(int(inside.sum())))
    chosen = [sample.labels[place].item_id for place in np.flatnonzero(inside).tolist()]
    _, places = np.unique(chosen, return_inverse=True)
    hits, units = (
        np.bincount(places, column) for column in (weights * sample.supported[inside], weights)
    )
    # Sums of weights round: an item of supported claims alone must not have more hits than units.
    return Histogram.from_clusters(np.minimum(hits, units), units)


def _assume(sample: _Sample) -> tuple[Floats, Floats]:
    """Return the mean and the variance of every stratum's share under Jeffreys' posterior."""
    worth = np.array(
        [effective_size(_count(sample, sample.places == place)) if held else 0.0
         for place, held in enumerate(sample.held)]
    )  # fmt: skip
    rates = sample.rates
    hits, misses = worth * rates + 0.5, worth * (1 - rates) + 0.5
    both = hits + misses
    return hits / both, hits * misses / (both**2 * (both + 1))


def _add_residuals(sample: _Sample, parts: Mapping[str, float]) -> dict[str, float]:
    """Add to every item's part what its labels are beyond what is expected of them."""
    seen = float(sample.shares[sample.held > 0].sum())
    residuals = sample.stands * (sample.supported - sample.expected) / sample.stands.sum() * seen
    means = np.bincount(sample.places, residuals, minlength=len(sample.names))
    held = np.maximum(1, sample.held)
    # A stratum's share was fitted to its own labels: the root makes up for it.
    scale = np.sqrt(held / np.maximum(1, held - 1))
    residuals = (residuals - (means / held)[sample.places]) * scale[sample.places]
    found = dict(parts)
    for one, residual in zip(sample.labels, residuals.tolist(), strict=True):
        found[one.item_id] = found.get(one.item_id, 0.0) + residual
    return found


def _sum_squares(parts: Mapping[str, float]) -> float:
    """Return the variance of a sum over items, from what each adds to it."""
    items = len(parts)
    return items / (items - 1) * sum(part**2 for part in parts.values()) if items > 1 else 0.0


def _spread_verdicts(
    sample: _Sample, verdicts: Mapping[str, Mapping[str | None, float]]
) -> dict[str, float]:
    """Return what every item adds by its verdicts alone, beyond what an average one would."""
    groups = [one.group for one in sample.labels]
    averages = _average(groups, sample.stands, sample.supported)
    shares = dict(zip(groups, averages.tolist(), strict=True))
    claims = sum(sum(given.values()) for given in verdicts.values())
    whole = float(sample.stands @ sample.supported / sample.stands.sum())
    predicted = {
        item: sum(count * shares.get(group, whole) for group, count in given.items())
        for item, given in verdicts.items()
    }
    mean = sum(predicted.values()) / claims if claims else 0.0
    return {
        item: (predicted[item] - mean * sum(given.values())) / claims
        for item, given in verdicts.items()
    }
