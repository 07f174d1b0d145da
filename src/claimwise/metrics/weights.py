"""Weighs items so that a golden set that is stratified out of proportion speaks for the traffic.

A set with as many rare questions as common ones measures both well, and its plain rate is that of
nobody's traffic. Shares of the traffic (70 % lookups) or a weight per item put it right: every item
counts by what it stands for, in all rates over the whole set. Slices stay as they are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import isfinite
from typing import Final, NamedTuple

from claimwise.errors import MetricError
from claimwise.metrics.catalogue import Metric
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.counting import ItemCounts, SliceKey, list_items
from claimwise.metrics.histogram import Histogram
from claimwise.store import Store
from claimwise.types.results import Settings, Weights

_ROUNDING: Final = 0.005


class WeightedItems(NamedTuple):
    """The items of a run, weighed, and what has to be said of it."""

    histogram: Histogram
    warnings: tuple[str, ...] = ()


def check_weights(weights: Weights) -> None:
    """Refuse shares that are none.

    Raises:
        MetricError: a share lies outside 0 to 1, or they don't add up to 1.
    """
    if weights.shares is None:
        return
    for value, share in weights.shares:
        if not 0 <= share <= 1:
            raise MetricError(
                f"[weights] {weights.column}: the share of {value!r} must be between 0 and 1, not "
                f"{share:g}"
            )
    total = sum(share for _, share in weights.shares)
    if abs(total - 1) > _ROUNDING:
        raise MetricError(
            f"[weights] {weights.column}: the shares add up to {total:g}; they must add up to 1"
        )


def weigh_items(
    store: Store, metric: Metric, run_id: str, settings: Settings
) -> dict[SliceKey, WeightedItems]:
    """Return the weighed items of a metric, by the members of its series (or one key without).

    With shares, an item of a slice weighs the slice's share of the traffic over its share of the
    items that the metric counts. What no item shows can't be weighed: those shares are left out,
    and said. Weights cost precision: `trials` are (sum w m)^2 / sum w^2 m.

    Raises:
        MetricError: the column is unknown, a value of it has no share, or a weight is no number.
    """
    weights = settings.weights
    assert weights is not None
    check_weights(weights)
    series = (metric.series,) if metric.series else ()
    rows = list_items(store, metric, run_id, (*series, weights.column), settings.labels)
    clusters = map_clusters(store, run_id, settings.cluster)
    by_member: dict[SliceKey, list[ItemCounts]] = defaultdict(list)
    for row in rows:
        if row.denominator > 0:
            by_member[row.key[:-1]].append(row)
    return {key: _weigh(held, weights, clusters) for key, held in by_member.items()}


def _weigh(
    rows: Sequence[ItemCounts], weights: Weights, clusters: Mapping[str, str]
) -> WeightedItems:
    factors, warnings = _find_factors([row.key[-1] for row in rows], weights)
    sums: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    total = squares = 0.0
    for row in rows:
        factor = factors[row.key[-1]]
        held = sums[clusters.get(row.item_id, row.item_id)]
        held[0] += factor * row.numerator
        held[1] += factor * row.denominator
        total += factor * row.denominator
        squares += factor**2 * row.denominator
    histogram = Histogram.from_pairs((min(y, m), m, 1) for y, m in sums.values())
    trials = total**2 / squares if squares else 0.0
    return WeightedItems(replace(histogram, trials=trials), warnings)


def _find_factors(
    values: Sequence[str | None], weights: Weights
) -> tuple[dict[str | None, float], tuple[str, ...]]:
    """Return what an item of each value weighs, and what is to be said."""
    if weights.shares is None:
        return {value: _read_weight(value, weights.column) for value in dict.fromkeys(values)}, ()
    counts, shares = Counter(values), dict(weights.shares)
    unnamed = sorted((value or "(no value)" for value in counts if value not in shares), key=str)
    if unnamed:
        raise MetricError(
            f"[weights] {weights.column} has no share for {unnamed[0]!r}, which items of the run "
            "have: add it (0 leaves them out)"
        )
    missing = {value: share for value, share in shares.items() if share and value not in counts}
    warnings = tuple(
        f"No scored item with {weights.column}={value} ({share:.0%} of the traffic): the weighted "
        "rate says nothing of those."
        for value, share in missing.items()
    )
    return {value: shares[value] / counts[value] for value in counts if value is not None}, warnings


def _read_weight(value: str | None, column: str) -> float:
    try:
        weight = float(value or "")
    except ValueError:
        weight = -1.0
    if not isfinite(weight) or weight < 0:
        raise MetricError(
            f"[weights] per_item: found {value!r} in the column {column}, expected a number of 0 "
            "or more for every item"
        )
    return weight
