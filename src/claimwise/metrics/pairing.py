"""Pairs two runs by item: what each item adds to a rate in the one and in the other.

Items are paired, claims are not. An item that both were asked and only one made claims about counts
with the claims it has.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from claimwise.metrics.catalogue import Metric
from claimwise.metrics.counting import ItemCounts, Narrowing, SliceKey, list_items
from claimwise.store import Store

_NOTHING = ItemCounts("", (), 0.0, 0.0, 0, 0)


@dataclass(slots=True)
class PairedItems:
    """The shared items of one slice: what each adds to the rates of both runs."""

    items: dict[str, list[ItemCounts]] = field(default_factory=dict)

    def put(self, row: ItemCounts, *, new: bool) -> None:
        """Add what one of the runs has of an item."""
        self.items.setdefault(row.item_id, [_NOTHING, _NOTHING])[new] = row

    def columns(self, clusters: Mapping[str, str] | None = None) -> NDArray[np.float64]:
        """Return base hits, base units, new hits, new units: one row each, items by id.

        Items of one of the clusters are added up.
        """
        sums: dict[str, NDArray[np.float64]] = {}
        for item, (b, n) in sorted(self.items.items()):
            row = np.array((b.numerator, b.denominator, n.numerator, n.denominator), float)
            above = (clusters or {}).get(item, item)
            sums[above] = sums[above] + row if above in sums else row
        return np.array(list(sums.values()), dtype=np.float64).reshape(-1, 4).T

    def count_items(self) -> tuple[int, int]:
        """Return how many items either run has anything of."""
        base, new = (sum(pair[side].asked > 0 for pair in self.items.values()) for side in (0, 1))
        return base, new

    def count_unscored(self) -> tuple[int, int]:
        """Return how many units of either run have no verdict."""
        base, new = (
            sum(pair[side].asked - pair[side].scored for pair in self.items.values())
            for side in (0, 1)
        )
        return base, new


def pair_items(
    store: Store,
    metric: Metric,
    run_ids: Sequence[str],
    by: Sequence[str],
    labels: Sequence[str | Narrowing],
    shared: Collection[str] | None = None,
) -> dict[SliceKey, PairedItems]:
    """Return the items of every slice in both runs; only shared ones where they are given.

    ``labels`` says for each of the runs whose labels count.
    """
    found: dict[SliceKey, PairedItems] = {}
    for new, (run_id, policy) in enumerate(zip(run_ids, labels, strict=True)):
        for row in list_items(store, metric, run_id, by, policy):
            if shared is None or row.item_id in shared:
                found.setdefault(row.key, PairedItems()).put(row, new=bool(new))
    return found
