"""Weighs items so that a golden set that is stratified out of proportion speaks for the traffic.

A set with as many rare questions as common ones measures both well, and its plain rate is that of
nobody's traffic. Shares of the traffic (70 % lookups) or a weight per item put it right: every item
counts by what it stands for, whatever is measured. What an item counts for depends on the items
that a run was asked alone, not on who labelled them: all rates of a run, and of two runs on the
same items, are weighted alike.

Reference: Kish (1965), Survey Sampling, section 11.7, on what weighted units are worth; Cochran
(1977), Sampling Techniques, section 5A.13, on rates of a part of the set.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isclose, isfinite
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimwise.errors import MetricError
from claimwise.metrics.catalogue import Metric
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.counting import ItemCounts, Narrowing, SliceKey, list_items, write_slice
from claimwise.metrics.histogram import Histogram
from claimwise.store import Store
from claimwise.store.runs import count_asked
from claimwise.types.results import Settings, Weighting, Weights

Floats = NDArray[np.float64]

_ROUNDING: Final = 0.005


@dataclass(frozen=True, kw_only=True, slots=True)
class ItemWeights:
    """What every item counts for, on average 1 over those that were asked."""

    column: str
    factors: Mapping[str, float]
    values: Mapping[str, str | None]  # of the column, by item
    shares: Mapping[str, float]  # of the traffic by value; empty where items have own weights
    asked: Sequence[str] = ()  # the items that all runs were asked

    def knows(self, items: Iterable[str]) -> bool:
        """Tell whether all of these are items: what is counted by something else has no weight."""
        return all(item in self.values for item in items)

    def list_factors(self, items: Sequence[str]) -> Floats:
        """Return what these items count for; 1 where all of them count alike, be it nothing.

        Within a group that has no share of the traffic, its items are all there is.
        """
        found = np.array([self.factors.get(item, 0.0) for item in items], dtype=np.float64)
        return np.ones(len(found)) if len(set(found.tolist())) == 1 else found

    def describe_missing(self, items: Iterable[str]) -> tuple[str, ...]:
        """Name the groups of the traffic that none of these items belongs to."""
        seen = {self.values.get(item) for item in items}
        return tuple(
            f"No scored item with {self.column}={value} ({share:.0%} of the traffic): the weighted "
            "rate says nothing of those."
            for value, share in self.shares.items()
            if share and value not in seen
        )

    def weigh(self, units: Mapping[str, float]) -> Weighting:
        """Say how a figure over so many units of every item is weighted."""
        factors, sizes = self.list_factors(list(units)), np.array(list(units.values()), float)
        return Weighting(column=self.column, design_effect=find_design_effect(factors, sizes))


def describe_unweighted(metric: Metric) -> str:
    """Say that a metric has no items to weigh."""
    return f"Not weighted: {metric.name} counts by something other than items."


class ItemCounting(NamedTuple):
    """What items belong to that are not independent, and what they count for (None: all alike)."""

    clusters: Mapping[str, str]
    weights: ItemWeights | None = None

    def find_factor(self, item: str) -> float:
        """Return what an item counts for."""
        return 1.0 if self.weights is None else self.weights.factors.get(item, 0.0)


class WeightedItems(NamedTuple):
    """The items of a slice, weighed: with rates per unit and per item."""

    histogram: Histogram
    per_item: Histogram
    scored: float  # share of what was asked that has a verdict
    weighting: Weighting
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


def read_weights(
    store: Store, runs: str | Sequence[str], weights: Weights | None
) -> ItemWeights | None:
    """Return what items count for in a run, or in several over the items that all were asked.

    With shares, an item of a group counts for the group's share of the traffic over its share of
    the items. None where nothing is weighed: no weights are set, or they are those that the items
    have anyway.

    Raises:
        MetricError: the column is unknown, a value of it has no share, or a weight is no number.
    """
    if weights is None:
        return None
    check_weights(weights)
    runs = (runs,) if isinstance(runs, str) else tuple(runs)
    values = _read_values(store, weights.column, runs[-1])
    asked = [item for item in _list_asked(store, runs) if item in values]
    groups = _find_factors([values[item] for item in asked], weights)
    found = ItemWeights(
        column=weights.column,
        factors={item: groups[value] for item, value in values.items() if value in groups},
        values=values,
        shares=dict(weights.shares or ()),
        asked=asked,
    )
    even = all(isclose(factor, 1.0, rel_tol=1e-9) for factor in groups.values())
    return None if even and not found.describe_missing(asked) else found


def _read_values(store: Store, column: str, run_id: str) -> dict[str, str | None]:
    """Return the value that every item has in a column of items, runs or attributes."""
    joins: list[str] = []
    try:
        value = write_slice(store, column, [], joins)
    except MetricError as error:
        raise MetricError(f"[weights]: {error}") from error
    sql = (
        f"select m.cluster_id, {value} from (select item_id as cluster_id from eval_items) as m "
        f"{' '.join(joins)}"
    )
    return dict(store.query(sql, {"run_id": run_id} if ":run_id" in sql else {}))


def _list_asked(store: Store, runs: Sequence[str]) -> list[str]:
    """Return the items that all runs were asked and that no run counts as retired."""
    sets = []
    for run_id in runs:
        retired = store.query(
            "select item_id from retired_answers where run_id = :run_id", {"run_id": run_id}
        )
        sets.append(count_asked(store, run_id).keys() - {row[0] for row in retired})
    return sorted(set.intersection(*map(set, sets)))


def _find_factors(values: Sequence[str | None], weights: Weights) -> dict[str | None, float]:
    """Return what an item of each value counts for, on average 1."""
    counts = Counter(values)
    if weights.shares is None:
        own = {value: _read_weight(value, weights.column) for value in counts}
    else:
        shares = dict(weights.shares)
        unnamed = sorted(value or "(no value)" for value in counts if value not in shares)
        if unnamed:
            raise MetricError(
                f"[weights] {weights.column} has no share for {unnamed[0]!r}, which items of the "
                "run have: add it (0 leaves them out)"
            )
        own = {value: shares[value or ""] / count for value, count in counts.items()}
    total = sum(own[value] * count for value, count in counts.items())
    scale = len(values) / total if total else 0.0
    return {value: factor * scale for value, factor in own.items()}


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


def find_design_effect(factors: Floats, units: Floats) -> float:
    """Return how many times as many units are needed as without weights, sum m sum w²m / (sum wm)².

    1 without any units.
    """
    total = float(factors @ units)
    return float(units.sum() * (factors**2 @ units)) / total**2 if total else 1.0


def scale_factors(factors: Floats, units: Floats) -> Floats:
    """Scale factors so that weighted units add up to what they are worth, (sum wm)² / sum w²m.

    No rate depends on the scale, and whatever takes units for a sample's size is then right.
    """
    squares = float(factors**2 @ units)
    return factors * (float(factors @ units) / squares) if squares else factors


def weigh_items(
    store: Store,
    metric: Metric,
    run_id: str,
    by: Sequence[str],
    weights: ItemWeights,
    settings: Settings,
    labels: str | Narrowing,
) -> dict[SliceKey, WeightedItems]:
    """Return the weighed items of a metric by slice; empty where it counts by something else.

    Slices in which all items count alike are left out: they are as they are.
    """
    rows = list_items(store, metric, run_id, by, labels)
    if not weights.knows(row.item_id for row in rows):
        return {}
    clusters = map_clusters(store, run_id, settings.cluster)
    slices: dict[SliceKey, list[ItemCounts]] = defaultdict(list)
    for row in rows:
        slices[row.key].append(row)
    whole = 1 if metric.series else 0  # columns of rates over the whole set
    found = {}
    for key, held in slices.items():
        if len(by) > whole and len({weights.factors.get(row.item_id) for row in held}) == 1:
            continue
        weighed = weigh_counts(held, weights, clusters)
        found[key] = weighed if len(by) == whole else weighed._replace(warnings=())
    return found


def weigh_counts(
    rows: Collection[ItemCounts], weights: ItemWeights, clusters: Mapping[str, str]
) -> WeightedItems:
    """Weigh the items of one slice; those of one cluster are added up."""
    table = np.array([row[2:] for row in rows], dtype=np.float64)
    factors = weights.list_factors([row.item_id for row in rows])
    hits, units, asked, scored = table.T
    scaled = scale_factors(factors, units)
    names = [clusters.get(row.item_id, row.item_id) for row in rows]
    _, places = np.unique(names, return_inverse=True)
    counted = units > 0  # an item without units has no rate
    columns = (scaled * hits, scaled * units, factors * counted, units, counted.astype(float))
    y, m, factor, size, items = (np.bincount(places, column) for column in columns)
    has_rate = m > 0
    y, m, factor, size, items = (
        column[has_rate] for column in (np.minimum(y, m), m, factor, size, items)
    )
    heft = factor / items
    per_item = Histogram.from_clusters(np.minimum(heft * (y / m), heft), heft)
    worth = float(heft.sum() ** 2 / (heft**2 @ (1 / size))) if len(heft) else 0.0
    whole = float(factors @ asked)
    return WeightedItems(
        histogram=Histogram.from_clusters(y, m),
        per_item=replace(per_item, trials=worth),
        scored=float(factors @ scored) / whole if whole else 1.0,
        weighting=Weighting(
            column=weights.column, design_effect=find_design_effect(factors, units)
        ),
        warnings=weights.describe_missing(
            row.item_id for row, held in zip(rows, counted, strict=True) if held
        ),
    )
