"""Pairs two runs by item: what each item adds to a rate in the one and in the other.

Items are paired, claims are not. An item that both were asked and only one made claims about counts
with the claims it has.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from claimwise.metrics.catalogue import Metric
from claimwise.metrics.counting import ItemCounts, Narrowing, SliceKey, list_items
from claimwise.metrics.weights import ItemWeights, scale_factors
from claimwise.store import Store
from claimwise.types.results import Weighting

_NOTHING = ItemCounts("", (), 0.0, 0.0, 0, 0)


@dataclass(slots=True)
class PairedItems:
    """The shared items of one slice: what each adds to the rates of both runs."""

    items: dict[str, list[ItemCounts]] = field(default_factory=dict)

    def put(self, row: ItemCounts, *, new: bool) -> None:
        """Add what one of the runs has of an item."""
        self.items.setdefault(row.item_id, [_NOTHING, _NOTHING])[new] = row

    def columns(
        self, clusters: Mapping[str, str] | None = None, weights: ItemWeights | None = None
    ) -> NDArray[np.float64]:
        """Return base hits, base units, new hits, new units: one row each, items by id.

        Items of one of the clusters are added up. Where items are weighed, the units of either run
        are what they are worth together (`scale_factors`).
        """
        names = sorted(self.items)
        table = np.array(
            [
                (b.numerator, b.denominator, n.numerator, n.denominator)
                for b, n in (self.items[name] for name in names)
            ],
            dtype=np.float64,
        ).reshape(-1, 4)
        table *= np.repeat(self.scale(weights), 2, axis=0).T
        places: dict[str, int] = {}
        lines = [places.setdefault((clusters or {}).get(name, name), len(places)) for name in names]
        sums = np.zeros((len(places), 4))
        np.add.at(sums, lines, table)
        return sums.T

    def scale(self, weights: ItemWeights | None) -> NDArray[np.float64]:
        """Return what every item counts for, in the base and in the new run: one row each."""
        names = sorted(self.items)
        if weights is None:
            return np.ones((2, len(names)))
        factors = weights.list_factors(names)
        units = [[self.items[name][side].denominator for name in names] for side in (0, 1)]
        return np.array([scale_factors(factors, np.array(side)) for side in units])

    def count_items(self) -> tuple[int, int]:
        """Return how many items either run has anything of."""
        base, new = (sum(pair[side].asked > 0 for pair in self.items.values()) for side in (0, 1))
        return base, new

    def count_unscored(self) -> tuple[int, int]:
        """Return how many units of either run have no verdict."""
        base, new = self._list_unscored().sum(axis=1)
        return int(base), int(new)

    def weigh_unscored(self, weights: ItemWeights | None) -> tuple[float, float]:
        """Return what units without a verdict count for, on the scale of `columns`."""
        base, new = (self._list_unscored() * self.scale(weights)).sum(axis=1)
        return float(base), float(new)

    def weigh(self, weights: ItemWeights) -> Weighting:
        """Say how the rates of these items are weighted."""
        return weights.weigh(
            {name: b.denominator + n.denominator for name, (b, n) in self.items.items()}
        )

    def _list_unscored(self) -> NDArray[np.float64]:
        pairs = [self.items[name] for name in sorted(self.items)]
        return np.array(
            [[pair[side].asked - pair[side].scored for pair in pairs] for side in (0, 1)],
            dtype=np.float64,
        )


def pair_items(
    store: Store,
    metric: Metric,
    run_ids: Sequence[str],
    by: Sequence[str],
    labels: Sequence[str | Narrowing],
    shared: Collection[str] | None = None,
) -> dict[SliceKey, PairedItems]:
    """Return the items of every slice in both runs; only shared ones where they are given.

    ``labels`` says for each of the runs whose labels count. What a metric counts by something
    other than items (conversations, say) is paired by that: shared is what both runs have of it.
    """
    sides = [
        list_items(store, metric, run_id, by, policy)
        for run_id, policy in zip(run_ids, labels, strict=True)
    ]
    if shared is not None:
        both = set.intersection(*({row.item_id for row in rows} for rows in sides))
        shared = {*shared, *find_strays(store, both)}
    found: dict[SliceKey, PairedItems] = {}
    for new, rows in enumerate(sides):
        for row in rows:
            if shared is None or row.item_id in shared:
                found.setdefault(row.key, PairedItems()).put(row, new=bool(new))
    return found


def find_strays(store: Store, names: Iterable[str]) -> set[str]:
    """Return those of the names that are no items: a metric may count by something else."""
    return set(names) - {row[0] for row in store.query("select item_id from eval_items")}
