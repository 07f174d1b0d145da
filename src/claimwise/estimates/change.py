"""The difference of two windows of traffic, and how much of it is a change of mix.

Windows hold different answers, so nothing is paired; clusters that lie in both (a document, a long
conversation) are taken off by their covariance. With shares s and rates r of groups of answers,

    change  =  sum (s_new - s_base) (r_base + r_new) / 2     the mix: more of the harder groups
             + sum (s_base + s_new) / 2 (r_new - r_base)     within groups: the system itself

Every part is a smooth function of sums over clusters, whose spread gives its range (the delta
method). Reference: Kitagawa (1955), JASA 50, 1168-1194; Cochran (1977), section 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.estimates.queries import WindowData
from claimwise.estimates.report import WindowReport, report_window
from claimwise.estimates.window import Influence, correct_rate, sum_squares, use_known_chances

Floats = NDArray[np.float64]
Numbers = NDArray[np.intp]

_STEP: Final = 1e-6  # of a window's claims, for numerical derivatives


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a change, with its range; without one where a window has no rate."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """A group's share of the claims and rate in both windows."""

    name: str
    base_share: float
    new_share: float
    base_rate: float | None
    new_rate: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowChange:
    """Two windows, the change of their rates, and what makes it up."""

    base: WindowReport
    new: WindowReport
    change: Part | None
    shared_clusters: int
    by: str | None = None
    mix: Part | None = None
    within: Part | None = None
    groups: tuple[GroupChange, ...] = ()


def compare_windows(
    base: WindowData,
    new: WindowData,
    *,
    confidence: float = 0.95,
    by: str | None = None,
    groups: tuple[NDArray[np.generic], NDArray[np.generic]] | None = None,
) -> WindowChange:
    """Compare two windows; ``groups`` are the values of ``by`` for the claims of each one's table.

    Without a rate of either window there is no change. The mix needs both rates to be corrected:
    labels alone are too few to tell groups apart.
    """
    reports = [report_window(data, confidence=confidence) for data in (base, new)]
    found = [one.estimate for one in reports]
    corrected = [
        correct_rate(use_known_chances(one.data.table))
        for one in reports
        if one.estimate.basis == "corrected"
    ]
    change = parts = None
    if found[0].rate is not None and found[1].rate is not None:
        variance = (found[0].variance or 0.0) + (found[1].variance or 0.0)
        if len(corrected) == 2:
            variance -= 2 * _find_covariance(*corrected)
        freedom = _find_freedom(reports)
        change = _bound(found[1].rate - found[0].rate, variance, freedom, confidence)
        if groups is not None and len(corrected) == 2:
            parts = _split(reports, corrected, groups, freedom, confidence)
    return WindowChange(
        base=reports[0],
        new=reports[1],
        change=change,
        shared_clusters=len(_find_shared(base.table.names, new.table.names)[0]),
        by=by,
        mix=parts.mix if parts else None,
        within=parts.within if parts else None,
        groups=parts.groups if parts else (),
    )


class _Parts(NamedTuple):
    mix: Part
    within: Part
    groups: tuple[GroupChange, ...]


def _split(
    reports: Sequence[WindowReport],
    corrected: Sequence[Influence],
    groups: tuple[NDArray[np.generic], NDArray[np.generic]],
    freedom: float,
    confidence: float,
) -> _Parts:
    names = sorted({str(value) for one in groups for value in np.unique(one.astype(str))})
    sums = [
        _sum_groups(one.data, influence, values, names)
        for one, influence, values in zip(reports, corrected, groups, strict=True)
    ]
    assumed = sum(one.assumed for one in corrected)  # of the rates; shares are seen
    return _Parts(
        _measure_part(_find_mix, sums, 0.0, freedom, confidence),
        _measure_part(_find_within, sums, assumed, freedom, confidence),
        _list_groups(sums),
    )


def _find_shared(base: NDArray[np.generic], new: NDArray[np.generic]) -> tuple[Numbers, Numbers]:
    """Return the places of the clusters that lie in both windows."""
    _, left, right = np.intersect1d(base.astype(str), new.astype(str), return_indices=True)
    return left, right


def _find_covariance(base: Influence, new: Influence) -> float:
    """Return the covariance of two rates by the clusters that lie in both windows."""
    left, right = _find_shared(base.names, new.names)
    return float(base.parts[left] @ new.parts[right])


def _find_freedom(reports: Sequence[WindowReport]) -> float:
    """Return Satterthwaite's degrees of freedom of a difference."""
    total = parts = 0.0
    for one in (report.estimate for report in reports):
        variance = one.variance or 0.0
        total += variance
        parts += variance**2 / max(1.0, one.freedom or one.labelled_clusters - 1.0)
    return max(1.0, total**2 / parts) if parts else 1.0


def _bound(value: float, variance: float, freedom: float, confidence: float) -> Part:
    reach = float(special.stdtrit(freedom, (1 + confidence) / 2)) * max(variance, 0.0) ** 0.5
    return Part(value=value, low=max(-1.0, value - reach), high=min(1.0, value + reach))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Sums:
    """A window's claims and supported claims by group, and by cluster and group."""

    names: list[str]
    totals: Floats  # claims of every group, then supported claims of every group
    clusters: Floats  # the same, one row per cluster


def _sum_groups(
    data: WindowData, influence: Influence, values: NDArray[np.generic], names: list[str]
) -> _Sums:
    codes = np.searchsorted(names, values.astype(str))
    weights, clusters = data.table.weights / data.table.weights.sum(), data.table.clusters
    size, count = len(names), len(data.table.names)
    cells = clusters.astype(np.intp) * size + codes
    columns = [
        np.bincount(cells, column, minlength=count * size).reshape(count, size)
        for column in (weights, weights * influence.claims)
    ]
    both = np.concatenate(columns, axis=1).astype(np.float64)
    return _Sums(names=names, totals=both.sum(axis=0), clusters=both)


def _rates(totals: Floats) -> tuple[Floats, Floats]:
    """Return shares and rates of groups; one that a window lacks has no rate (NaN)."""
    claims, hits = np.split(totals, 2)
    shares = claims / claims.sum()
    rates = np.full(len(claims), np.nan)
    np.divide(hits, claims, out=rates, where=claims > 0)
    return shares, rates


def _pair_rates(base: Floats, new: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Return shares and rates of both windows; where one lacks a group, the other's rate stands."""
    (old_shares, old), (new_shares, fresh) = _rates(base), _rates(new)
    old, fresh = np.where(np.isnan(old), fresh, old), np.where(np.isnan(fresh), old, fresh)
    return old_shares, old, new_shares, fresh


def _find_mix(base: Floats, new: Floats) -> float:
    old_shares, old, new_shares, fresh = _pair_rates(base, new)
    return float((new_shares - old_shares) @ (old + fresh) / 2)


def _find_within(base: Floats, new: Floats) -> float:
    old_shares, old, new_shares, fresh = _pair_rates(base, new)
    return float((old_shares + new_shares) @ (fresh - old) / 2)


def _measure_part(
    part: Callable[[Floats, Floats], float],
    sums: list[_Sums],
    assumed: float,
    freedom: float,
    confidence: float,
) -> Part:
    """Return a part with its range: what each cluster adds to it, by numerical derivatives."""
    base, new = (one.totals for one in sums)
    variance = assumed
    for at, one in enumerate(sums):
        slopes = np.zeros(len(one.totals))
        for place in np.flatnonzero(one.totals):
            ends = []
            for step in (_STEP, -_STEP):
                moved = one.totals.copy()
                moved[place] += step
                ends.append(part(moved, new) if at == 0 else part(base, moved))
            slopes[place] = (ends[0] - ends[1]) / (2 * _STEP)
        influence = one.clusters @ slopes
        variance += sum_squares(influence - influence.mean())
    return _bound(part(base, new), variance, freedom, confidence)


def _list_groups(sums: list[_Sums]) -> tuple[GroupChange, ...]:
    (old_shares, old), (new_shares, fresh) = (_rates(one.totals) for one in sums)
    found = [
        GroupChange(
            name=name,
            base_share=float(old_shares[at]),
            new_share=float(new_shares[at]),
            base_rate=None if np.isnan(old[at]) else float(old[at]),
            new_rate=None if np.isnan(fresh[at]) else float(fresh[at]),
        )
        for at, name in enumerate(sums[0].names)
    ]
    return tuple(sorted(found, key=lambda one: -abs(one.new_share - one.base_share)))
