"""Items counted by what they hold: the only form in which figures see data.

A rate and its spread depend on each item only through its numerator (say, unsupported claims) and
its denominator (claims checked), so a million items collapse to a few hundred distinct pairs. The
database can do that counting, and every interval then costs the same for any number of items.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray


@dataclass(frozen=True, kw_only=True, eq=False)
class Histogram:
    """How many items have each (numerator, denominator) pair, sorted by that pair.

    Build it with `from_pairs` or `from_clusters`; both sort and merge, so that figures do not
    depend on the order in which a database returns rows.

    Attributes:
        numerator: Hits in one item (for example its unsupported claims), at most `denominator`.
        denominator: Units in one item (for example its checked claims), above zero.
        clusters: Number of items with that pair.
        trials: Number of independent units that would say as much if units of one item did not
            resemble each other: all units for a pooled rate. It caps the effective size.
    """

    numerator: NDArray[np.float64]
    denominator: NDArray[np.float64]
    clusters: NDArray[np.int64]
    trials: float

    @classmethod
    def from_pairs(cls, rows: Iterable[tuple[float, float, int]]) -> Self:
        """Build from (numerator, denominator, number of items) rows, as a database counts them.

        Rows in any order; equal pairs are added up, and items without units are dropped because
        they carry no rate. No rows give an empty histogram.

        Raises:
            ValueError: If a count is negative or a numerator lies outside 0 to its denominator.
        """
        table = np.array(list(rows), dtype=np.float64).reshape(-1, 3)
        if np.any(table[:, 2] < 0):
            raise ValueError("a number of items is negative")
        _check_pairs(table[:, 0], table[:, 1])
        return cls._merged(table[:, 0], table[:, 1], table[:, 2].astype(np.int64))

    @classmethod
    def from_clusters(cls, numerator: ArrayLike, denominator: ArrayLike) -> Self:
        """Build from one entry per item; same rules as `from_pairs`."""
        hits = np.asarray(numerator, dtype=np.float64)
        units = np.asarray(denominator, dtype=np.float64)
        if hits.shape != units.shape or hits.ndim != 1:
            raise ValueError(
                f"numerator {hits.shape} and denominator {units.shape} must be two equally long "
                "one-dimensional arrays"
            )
        _check_pairs(hits, units)
        return cls._merged(*_count_pairs(hits, units))

    @classmethod
    def _merged(
        cls,
        numerator: NDArray[np.float64],
        denominator: NDArray[np.float64],
        clusters: NDArray[np.int64],
    ) -> Self:
        kept = np.flatnonzero((denominator > 0) & (clusters > 0))
        order = kept[np.lexsort((denominator[kept], numerator[kept]))]
        hits, units, counts = numerator[order], denominator[order], clusters[order]
        fresh = np.ones(len(order), dtype=bool)
        fresh[1:] = (np.diff(hits) != 0) | (np.diff(units) != 0)
        starts = np.flatnonzero(fresh)
        return cls(
            numerator=hits[starts],
            denominator=units[starts],
            clusters=np.add.reduceat(counts, starts) if len(starts) else counts,
            trials=float(units @ counts),
        )

    @cached_property
    def items(self) -> int:
        """Number of items with at least one unit."""
        return int(self.clusters.sum())

    @cached_property
    def units(self) -> float:
        """Sum of the denominators."""
        return float(self.denominator @ self.clusters)

    @cached_property
    def hits(self) -> float:
        """Sum of the numerators."""
        return float(self.numerator @ self.clusters)

    def per_item_rates(self) -> Histogram:
        """Give every item the same weight, whatever its number of units.

        The pooled (micro) rate of the result is the mean of the item rates (the macro rate) of
        this histogram, so each interval serves both. `trials` becomes items times the harmonic
        mean of their units, which is what independent units would be worth to that mean.
        """
        if not self.items:
            return self
        table = self._merged(
            self.numerator / self.denominator, np.ones_like(self.denominator), self.clusters
        )
        worth = self.items**2 / float(self.clusters @ (1 / self.denominator))
        # The last factor is 1 for pooled units and keeps a second call from changing anything.
        return Histogram(
            numerator=table.numerator,
            denominator=table.denominator,
            clusters=table.clusters,
            trials=worth * self.trials / self.units,
        )


def _check_pairs(hits: NDArray[np.float64], units: NDArray[np.float64]) -> None:
    # Written so that NaN fails too.
    if not np.all((hits >= 0) & (hits <= units) & np.isfinite(units)):
        raise ValueError("every numerator must lie between 0 and its denominator")


def _count_pairs(
    hits: NDArray[np.float64], units: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Count small whole-number pairs without sorting; leave any others to the merge."""
    top = units.max(initial=0.0)
    # With few cells, counting into a table takes one pass where sorting takes many.
    if top**2 <= 10_000 + len(units):
        whole_hits, whole_units = hits.astype(np.int64), units.astype(np.int64)
        if np.array_equal(whole_hits, hits) and np.array_equal(whole_units, units):
            side = int(top) + 1
            counts = np.bincount(whole_hits * side + whole_units)
            cells = np.flatnonzero(counts)
            return (cells // side).astype(float), (cells % side).astype(float), counts[cells]
    return hits, units, np.ones(len(hits), dtype=np.int64)
