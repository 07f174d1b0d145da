"""What is known of a slice's items, and what it would be if the unknown were all hits or misses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from claimwise.metrics.weights import ItemWeights, scale_factors

Floats = NDArray[np.float64]


class ItemRow(NamedTuple):
    """One item: its rate's numerator and denominator, and how far they can be believed.

    ``unscored`` units have no verdict. ``untrusted`` ones, within the denominator, have a judge's:
    what people would say of them is unknown, and they decide nothing in either direction.
    """

    hits: float = 0.0
    units: float = 0.0
    unscored: float = 0.0
    untrusted: float = 0.0


@dataclass(frozen=True, slots=True)
class GateCounts:
    """The items of one slice, in the order of their ids."""

    rows: Mapping[str, ItemRow] = field(default_factory=dict)
    # What items belong to that are not independent; those without stand for themselves.
    clusters: Mapping[str, str] = field(default_factory=dict)
    weights: ItemWeights | None = None  # what items count for; None: all alike

    def count(self, items: Iterable[str] | None = None) -> ItemRow:
        """Return what all items hold together, or those named, each counted for itself."""
        return ItemRow(*self._list(self.rows if items is None else items).sum(axis=0).tolist())

    def table(self, items: Iterable[str] | None = None) -> Floats:
        """Return a line for each item, of all or of those named; one that is not there is zeros.

        Items of one cluster are added up in one line. Weighed units are what they are worth.
        """
        wanted = list(self.rows if items is None else items)
        table = self._list(wanted)
        if self.weights is not None:
            factors = self.weights.list_factors(wanted)
            # What is scored, and what was asked, may be worth differently much: the less counts.
            worth = [
                scale_factors(factors, units) for units in (table[:, 1], table[:, 1] + table[:, 2])
            ]
            table *= np.minimum(*worth)[:, np.newaxis]
        if not self.clusters:
            return table
        places: dict[str, int] = {}
        lines = [places.setdefault(self.clusters.get(item, item), len(places)) for item in wanted]
        sums = np.zeros((len(places), table.shape[1]))
        np.add.at(sums, lines, table)
        return sums

    def _list(self, items: Iterable[str]) -> Floats:
        rows = [self.rows.get(item, ItemRow()) for item in items]
        return np.array(rows, dtype=np.float64).reshape(-1, len(ItemRow._fields))


def rate_of(table: Floats) -> float | None:
    """Return the rate of what was scored; a blend of people's and a judge's labels has none."""
    hits, units, _, untrusted = table.sum(axis=0)
    return None if untrusted or not units else float(hits / units)


def forget_unknown(table: Floats) -> Floats:
    """Return a table as if every verdict were believed, and nothing else had been asked."""
    known = table.copy()
    known[:, 2:] = 0.0
    return known


def imagine(table: Floats, *, hits: bool) -> tuple[Floats, Floats]:
    """Return numerators and denominators if all that is unknown were hits, or all misses.

    What comes out are the ends between which the whole data must lie.
    """
    found, units, unscored, untrusted = table.T
    if hits:
        return np.minimum(units, found + untrusted) + unscored, units + unscored
    return np.maximum(0.0, found - untrusted), units + unscored
