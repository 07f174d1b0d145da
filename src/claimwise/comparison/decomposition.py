"""Splits the movement of a rate into parts that add up to it, each with an interval.

With R(T) the pooled rate of a run over a set of items T, and four sets of items, each within the
one before (all that the run was asked; shared: asked in both runs; kept: shared, and their
evidence is the same in both corpora):

    whole       =  R_new(all)    - R_base(all)
    mix         = [R_new(all)    - R_new(shared)] - [R_base(all)    - R_base(shared)]
    evidence    = [R_new(shared) - R_new(kept)]   - [R_base(shared) - R_base(kept)]
    instrument  =  q * [rate by the new instruments - rate by the old ones, on the same claims]
    system      =  R_new(kept)   - R_base(kept)   - instrument

q is the share of claims whose kind of judge changed. The sum telescopes, so the parts add up
whatever the data. Mix and evidence are differences of differences: each compares items within
one run, so what moved all items alike (the system, the instrument) is not in them. The evidence
part therefore rests on one assumption: that the system would have moved the items whose evidence
changed as far as it moved the others.

Method: linearisation. Every part is a smooth function of sums over items, so each item has an
influence on it, and the part's variance is the spread of those influences within each group of
items (base only, new only, kept, evidence changed), items being independent. What one item adds
to two rates is added up before it is squared: that is the pairing. Items of one cluster (of a
document, say) are added up as well, across groups too. Student's t with
Satterthwaite's degrees of freedom. Where few items differ, variance is assumed in part, as in
`compare_items`.

Reference: Cochran (1977), Sampling Techniques, sections 5A.12 and 6.3; Satterthwaite (1946),
Biometrics Bulletin 2, 110-114.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.comparison.drift_values import Cause
from claimwise.metrics.intervals import FEW_INFORMATIVE
from claimwise.metrics.paired import compare_items, plan_variance

Array = NDArray[np.float64]

BASE_ONLY: Final = 0
NEW_ONLY: Final = 1
KEPT: Final = 2
MOVED: Final = 3

_JUDGED: Final = 4  # the items whose claims both instruments judged
_BASE: Final = (BASE_ONLY, KEPT, MOVED)
_NEW: Final = (NEW_ONLY, KEPT, MOVED)
_SHARED: Final = (KEPT, MOVED)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class PairedCounts:
    """Hits and units of every item of two runs, one entry an item, zero where it has none.

    Attributes:
        group: One of `BASE_ONLY`, `NEW_ONLY`, `KEPT` and `MOVED` (its evidence changed).
        scale: Base's number of samples over the new run's, for shared items: their weight is
            made the same in both runs before they are compared.
        cluster: The number of what every item belongs to; None: every item stands for itself.
    """

    base_hits: Array
    base_units: Array
    new_hits: Array
    new_units: Array
    group: NDArray[np.int64]
    scale: Array
    cluster: NDArray[np.int64] | None = None


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Overlap:
    """What both runs' instruments say of the same claims, by item in the order of `Counts`.

    Attributes:
        share: The share of claims whose kind of judge changed.
    """

    old_hits: Array
    old_units: Array
    new_hits: Array
    new_units: Array
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class MovementShare:
    """A part of the movement: its size and its interval."""

    causes: tuple[Cause, ...]
    change: float
    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Split:
    """The movement of a rate and its parts."""

    base: float
    new: float
    whole: MovementShare
    pieces: tuple[MovementShare, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Term:
    """A linear combination of rates: its value, and every item's influence on it.

    ``pulls`` says how much of a group's rate in one of the runs is in it: by (is the run new,
    group).
    """

    value: float
    influence: Array
    pulls: dict[tuple[bool, int], float]

    def minus(self, other: _Term) -> _Term:
        keys = {*self.pulls, *other.pulls}
        pulls = {key: self.pulls.get(key, 0.0) - other.pulls.get(key, 0.0) for key in keys}
        return _Term(self.value - other.value, self.influence - other.influence, pulls)


def split_movement(
    counts: PairedCounts,
    overlap: Overlap | None = None,
    *,
    instrument_changed: bool = False,
    evidence_known: bool = True,
    confidence: float = 0.95,
) -> Split | None:
    """Split the movement of a rate; see the module for the estimands.

    Causes that can't be told apart come as one piece: system and instrument without an overlap,
    system and evidence when no shared item kept its evidence (or nobody knows which did). A cause
    of which nothing changed gives a piece of exactly 0. None where one of the runs has no units
    on shared items.
    """
    rates = _Rates(counts)
    levels = [rates.take(new, groups) for groups in ((_BASE, _NEW), (_SHARED, _SHARED))
              for new in (False, True)]  # fmt: skip
    if any(level is None for level in levels):
        return None
    base_all, new_all, base_shared, new_shared = (level for level in levels if level is not None)
    whole = new_all.minus(base_all)
    shared = new_shared.minus(base_shared)
    mix = whole.minus(shared)
    kept = rates.take_kept() if evidence_known else None
    judged = _compare_instruments(overlap) if instrument_changed else None
    terms: list[tuple[tuple[Cause, ...], _Term]] = [(("mix",), mix)]
    rest: tuple[Cause, ...] = ("system",)
    left = shared
    if kept is None:
        rest += ("evidence",)
    else:
        terms.append((("evidence",), shared.minus(kept)))
        left = kept
    if instrument_changed and judged is None:
        rest += ("instrument",)
    else:
        judged = judged or _nothing(counts)
        terms.append((("instrument",), judged))
        left = left.minus(judged)
    terms.append((rest, left))
    spread = _Spread(counts, overlap if instrument_changed else None, judged, confidence)
    return Split(
        base=base_all.value,
        new=new_all.value,
        whole=spread.enclose((), whole),
        pieces=tuple(spread.enclose(causes, term) for causes, term in reversed(terms)),
    )


class _Rates:
    """Rates of sets of items, as terms."""

    def __init__(self, counts: PairedCounts) -> None:
        self._counts = counts

    def take(self, new: bool, groups: tuple[Sequence[int], Sequence[int]]) -> _Term | None:
        """Return the rate of one run over its groups of items."""
        counts = self._counts
        chosen = groups[new]
        hits, units = (
            (counts.new_hits, counts.new_units) if new else (counts.base_hits, counts.base_units)
        )
        if new and NEW_ONLY not in chosen:
            hits, units = hits * counts.scale, units * counts.scale
        inside = np.isin(counts.group, chosen)
        total = float(units[inside].sum())
        if not total:
            return None
        rate = float(hits[inside].sum()) / total
        influence = np.where(inside, (hits - rate * units) / total, 0.0)
        pulls = {(new, g): float(units[counts.group == g].sum()) / total for g in chosen}
        return _Term(rate, influence, pulls)

    def take_kept(self) -> _Term | None:
        """Return how far the items that kept their evidence moved."""
        base, new = (self.take(new, ((KEPT,), (KEPT,))) for new in (False, True))
        return new.minus(base) if base and new else None


def _nothing(counts: PairedCounts) -> _Term:
    return _Term(0.0, np.zeros(len(counts.group)), {})


def _compare_instruments(overlap: Overlap | None) -> _Term | None:
    """Return what the change of instruments did, or None when no claim shows it."""
    if overlap is None:
        return None
    old, new = float(overlap.old_units.sum()), float(overlap.new_units.sum())
    if not old or not new:
        return None
    before, after = float(overlap.old_hits.sum()) / old, float(overlap.new_hits.sum()) / new
    influence = (overlap.new_hits - after * overlap.new_units) / new
    influence = influence - (overlap.old_hits - before * overlap.old_units) / old
    pulls = {(True, _JUDGED): overlap.share}
    return _Term(overlap.share * (after - before), overlap.share * influence, pulls)


class _Spread:
    """Puts intervals on terms."""

    def __init__(
        self, counts: PairedCounts, overlap: Overlap | None, judged: _Term | None, confidence: float
    ) -> None:
        self._level = (1 + confidence) / 2
        self._judged = judged
        whole = np.arange(len(counts.group)) if counts.cluster is None else counts.cluster
        self._clusters = whole
        self._assumed = {group: _assume_group(counts, group, whole) for group in range(_JUDGED)}
        rejudged = np.zeros(len(counts.group), dtype=bool)
        if overlap is not None:
            rejudged = (overlap.old_units > 0) | (overlap.new_units > 0)
            self._assumed[_JUDGED] = _assume_change(
                *_add_up(
                    whole, overlap.old_hits, overlap.old_units, overlap.new_hits, overlap.new_units
                )
            )
        seen = (counts.base_units > 0) | (counts.new_units > 0) | rejudged
        self._strata, sizes = _find_strata(whole, np.where(seen, counts.group, -1))
        self._rejudged = [np.unique(whole[rejudged])]
        self._sizes = [*sizes, len(self._rejudged[0])]

    def enclose(self, causes: tuple[Cause, ...], term: _Term) -> MovementShare:
        """Return the piece of a term; one that nothing has an influence on is exact."""
        pieces, others = list(self._measure(term.influence, self._strata)), []
        if self._judged is not None and (True, _JUDGED) in term.pulls:
            # The few items that were judged twice limit the degrees of freedom by themselves.
            others = list(self._measure(self._judged.influence, self._rejudged))
            if term is self._judged:
                pieces, others = others, []
        measured = sum(variance for variance, _ in pieces)
        parts = [part for part in (*pieces, *others) if part[0]]
        squares = sum(variance**2 / freedom for variance, freedom in parts)
        freedom = self._count_items(term) - 1.0
        if squares:
            freedom = sum(variance for variance, _ in parts) ** 2 / squares
        half = math.sqrt(measured + self._assume(term))
        half *= float(special.stdtrit(max(1.0, freedom), self._level))
        return MovementShare(
            causes=causes, change=term.value, low=term.value - half, high=term.value + half
        )

    def _measure(
        self, influence: Array, strata: Sequence[NDArray[np.int64]]
    ) -> Iterable[tuple[float, int]]:
        """Yield the variance that each stratum of clusters adds, and its degrees of freedom."""
        (sums,) = _add_up(self._clusters, influence)
        for inside in strata:
            found, count = sums[inside], len(inside)
            if count == 1:
                yield float(found[0] ** 2), 1
            elif count:
                yield float(np.sum((found - found.mean()) ** 2)) * count / (count - 1), count - 1

    def _count_items(self, term: _Term) -> int:
        """Return the size of the largest group that a term rests on."""
        return max(
            (self._sizes[group] for (_, group), pull in term.pulls.items() if pull), default=0
        )

    def _assume(self, term: _Term) -> float:
        """Return the variance that is assumed where too few items differ to measure it."""
        found = 0.0
        for group, variance in self._assumed.items():
            pull = max(abs(term.pulls.get((new, group), 0.0)) for new in (False, True))
            found += pull**2 * variance
        return found


def _add_up(clusters: NDArray[np.int64], *columns: Array) -> list[Array]:
    """Return the sum of every column over the items of each cluster."""
    return [np.bincount(clusters, weights=column).astype(np.float64) for column in columns]


def _find_strata(
    clusters: NDArray[np.int64], groups: NDArray[np.int64]
) -> tuple[list[NDArray[np.int64]], list[int]]:
    """Return the clusters by the groups that their items lie in, and how many touch each group.

    Items of the group -1 don't count. A cluster across several groups is in a stratum of its kind.
    """
    held = np.zeros(int(clusters.max(initial=-1)) + 1, dtype=np.int64)
    inside = groups >= 0
    np.bitwise_or.at(held, clusters[inside], 1 << groups[inside])
    strata = [np.flatnonzero(held == kind) for kind in np.unique(held[held > 0])]
    return strata, [int(np.count_nonzero(held & (1 << group))) for group in range(_JUDGED)]


def _assume_group(counts: PairedCounts, group: int, clusters: NDArray[np.int64]) -> float:
    """Return how much the variance of a group's rate (or of its change) lacks, by planning."""
    inside = counts.group == group
    columns = (counts.base_hits, counts.base_units, counts.new_hits, counts.new_units)
    base_hits, base_units, *new = _add_up(clusters[inside], *(one[inside] for one in columns))
    base = [base_hits, base_units]
    if group in _SHARED:
        return _assume_change(*base, *new)
    hits, units = new if group == NEW_ONLY else base
    if not units.sum():
        return 0.0
    hits, units = hits[units > 0], units[units > 0]
    informative = min(np.count_nonzero(hits > 0), np.count_nonzero(hits < units))
    weight = max(0.0, 1 - informative / FEW_INFORMATIVE)
    residuals = hits - hits.sum() / units.sum() * units
    measured = float(residuals @ residuals) / float(units.sum()) ** 2
    return weight * max(0.0, plan_variance(hits, units) - measured)


def _assume_change(y0: Array, m0: Array, y1: Array, m1: Array) -> float:
    found = compare_items(y0, m0, y1, m1)
    return 0.0 if found is None else found.error**2 - found.measured**2
