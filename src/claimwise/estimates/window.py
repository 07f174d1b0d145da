"""The rate of a window of traffic, from a judge's score on every claim and people's labels on some.

The judge's score, recalibrated on labels of other clusters, predicts every claim; the labels say
how far that is off, stratum by stratum, and the rate is corrected by it. Whatever the judge gets
wrong, the labels put right: what it knows only makes the range narrow. Claims of one cluster
(document, conversation or item) resemble each other, so clusters are what the range counts. Where
labels can't carry that, the rate comes from the labels alone, or there is none, with the reason.

Reference: Angelopoulos, Bates, Fannjiang, Jordan & Zrnic (2023), Prediction-powered inference;
Zrnic & Candès (2024), Cross-prediction-powered inference; Särndal, Swensson & Wretman (1992),
Model Assisted Survey Sampling, sections 5.10 and 6.4, on ratios and unequal probabilities; Brown,
Cai & DasGupta (2001), Statistical Science 16, 101-133, on Jeffreys' prior.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from claimwise.calibration.maps import LabelledScores, apply_map, deal_items, fit_platt
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import effective_size, wilson_bounds, wilson_interval
from claimwise.metrics.weights import scale_factors
from claimwise.report.format import pluralize, show_percent

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Numbers = NDArray[np.signedinteger]  # small ones for what every claim has
Basis = Literal["corrected", "labels_only", "none"]

LEAST_CLUSTERS: Final = 30
"""Labelled clusters below which no correction is made."""
LEAST_RARE: Final = 8
"""Labels of the rarer kind below which no correction is made."""
LEAST_IN_STRATUM: Final = 5
"""Labels that a stratum of any size needs; small strata with fewer are taken together."""
SMALL_STRATUM: Final = 0.05
MOST_OF_VARIANCE: Final = 0.25
"""The share of the variance that one cluster may carry."""
LEAST_FOR_LABELS: Final = 10
"""Labelled clusters below which labels alone say nothing."""
_THIN: Final = 3  # labels of the rarer kind below which a stratum's spread is mostly luck
_SMALL: Final = "small strata"


@dataclass(frozen=True, slots=True)
class WindowClaim:
    """One claim of a window that the judge scored.

    Attributes:
        cluster: Its document or conversation where known, else its item.
        item: The answer's item.
        stratum: The judge's verdict × confidence band.
        score: The judge's probability that the claim is supported.
        label: People's deciding label: supported or not; None without one.
        inclusion: Probability with which the claim was chosen for labelling; None where unknown.
        weight: 1 / inclusion probability of its answer (sampling of the traffic).
        approved: Whether the judge's verdict is “supported”; None: by its score.
    """

    cluster: str
    item: str
    stratum: str
    score: float
    label: bool | None = None
    inclusion: float | None = None
    weight: float = 1.0
    approved: bool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowEstimate:
    """A window's share of supported claims, and what it rests on.

    ``low`` and ``high`` are the range of the rate among scored claims. ``unscored_low`` and
    ``unscored_high`` also allow for unscored claims being all unsupported or all supported.
    """

    rate: float | None
    low: float | None
    high: float | None
    confidence: float
    basis: Basis
    judge_only: float | None
    judge_low: float | None
    judge_high: float | None
    labels: int
    unused_labels: int
    labelled_clusters: int
    clusters: int
    claims: int
    unscored: int
    unscored_share: float
    unscored_low: float | None
    unscored_high: float | None
    effective_size: float | None
    variance: float | None
    freedom: float | None
    refusals: tuple[str, ...]

    @property
    def width(self) -> float | None:
        """The width of the range."""
        return None if self.low is None or self.high is None else self.high - self.low


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class ClaimTable:
    """A window's scored claims in columns; what only labelled claims have lies in the last three.

    Attributes:
        clusters: Cluster of each claim, as its place among ``names``.
        names: The clusters' names; any array of as many entries as there are clusters.
        strata: Stratum of each claim, as its place among ``stratum_names``.
        stratum_names: The strata's names.
        scores: The judge's probability of support.
        approved: Whether the judge's verdict is “supported”.
        weights: What each claim's answer stands for.
        rows: The labelled claims' places in the columns above.
        told: Whether people call them supported.
        chances: Their probabilities of having been chosen; NaN where unknown.
    """

    clusters: Numbers
    names: NDArray[np.generic]
    strata: Numbers
    stratum_names: tuple[str, ...]
    scores: Floats
    approved: Flags
    weights: Floats
    rows: Numbers
    told: Flags
    chances: Floats
    items: Numbers | None = None  # the claims' items, where they matter

    @classmethod
    def from_claims(cls, claims: Sequence[WindowClaim]) -> ClaimTable:
        """Put claims into columns."""
        names, clusters = np.unique([one.cluster for one in claims], return_inverse=True)
        stratum_names, strata = np.unique([one.stratum for one in claims], return_inverse=True)
        labelled = [(row, one) for row, one in enumerate(claims) if one.label is not None]
        approved = [one.score >= 0.5 if one.approved is None else one.approved for one in claims]
        chances = [np.nan if one.inclusion is None else one.inclusion for _, one in labelled]
        return cls(
            clusters=clusters.astype(np.intp),
            names=names,
            strata=strata.astype(np.intp),
            stratum_names=tuple(map(str, stratum_names)),
            scores=np.array([one.score for one in claims], dtype=np.float64),
            approved=np.array(approved, dtype=bool),
            weights=np.array([one.weight for one in claims], dtype=np.float64),
            rows=np.array([row for row, _ in labelled], dtype=np.intp),
            told=np.array([one.label for _, one in labelled], dtype=bool),
            chances=np.array(chances, dtype=np.float64),
        )

    @property
    def stands(self) -> Floats:
        """What every label stands for: its answer's weight over its chance of being chosen."""
        return self.weights[self.rows] / np.where(np.isnan(self.chances), 1.0, self.chances)

    @property
    def labelled_clusters(self) -> int:
        """How many clusters have a label."""
        return len(np.unique(self.clusters[self.rows]))


class Influence(NamedTuple):
    """A rate, and how every cluster moves it: what two windows need to be compared."""

    rate: float
    names: NDArray[np.generic]
    parts: Floats  # psi of each cluster over the window's claims
    claims: Floats  # what each claim adds to the rate, on average the rate itself
    assumed: float  # variance that thin strata are taken to have beyond what they show

    @property
    def variance(self) -> float:
        """The variance of the rate, clusters being independent."""
        return sum_squares(self.parts) + self.assumed

    @property
    def freedom(self) -> float:
        """Clusters that carry the variance: (sum psi²)² / sum psi⁴."""
        squares = self.parts**2
        return float(squares.sum() ** 2 / max(float((squares**2).sum()), 1e-300))


def sum_squares(parts: Floats) -> float:
    """Return the variance of a sum over independent clusters, from what each adds to it."""
    count = len(parts)
    return count / (count - 1) * float(parts @ parts) if count > 1 else 0.0


def estimate_window(
    claims: Sequence[WindowClaim],
    *,
    confidence: float = 0.95,
    seed: int = 0,
    unscored: int = 0,
    unscored_weight: float | None = None,
    barred: Sequence[str] = (),
) -> WindowEstimate:
    """Estimate the share of supported claims of a window; see `estimate_table`."""
    return estimate_table(
        ClaimTable.from_claims(claims),
        confidence=confidence,
        seed=seed,
        unscored=unscored,
        unscored_weight=unscored_weight,
        barred=barred,
    )


def estimate_table(
    table: ClaimTable,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    unscored: int = 0,
    unscored_weight: float | None = None,
    barred: Sequence[str] = (),
) -> WindowEstimate:
    """Estimate the share of supported claims among those that the judge scored.

    Args:
        table: the claims. Labels of unknown probability count as drawn at random, as long as no
            label of the window has a known one; otherwise they are left out and counted.
        confidence: of the ranges.
        seed: deals clusters into folds.
        unscored: claims that the judge was asked and could not score.
        unscored_weight: what they stand for; as many where None.
        barred: reasons, found elsewhere, why the judge can't be corrected here.

    Returns:
        “corrected” where labels can carry it, else “labels_only”, else “none”, with all reasons.
    """
    used = use_known_chances(table)
    corrected = None
    reasons = [*barred, *_find_refusals(used)]
    if not reasons:
        corrected = correct_rate(used, seed)
        reasons += _find_imbalance(corrected)
    basis, figures = _choose_basis(used, corrected, reasons, confidence)
    weight = float(unscored if unscored_weight is None else unscored_weight)
    share = weight / max(weight + float(table.weights.sum()), 1e-300)
    found = _put_together(used, basis, figures, confidence, share)
    return replace(
        found,
        unused_labels=len(table.rows) - len(used.rows),
        unscored=unscored,
        refusals=tuple(reasons),
    )


def _put_together(
    table: ClaimTable, basis: Basis, figures: _Figures, confidence: float, unscored_share: float
) -> WindowEstimate:
    judge = _measure_judge(table, confidence)
    scored = 1 - unscored_share
    return WindowEstimate(
        rate=figures.rate,
        low=figures.low,
        high=figures.high,
        confidence=confidence,
        basis=basis,
        judge_only=judge.rate,
        judge_low=judge.low,
        judge_high=judge.high,
        labels=len(table.rows),
        unused_labels=0,
        labelled_clusters=table.labelled_clusters,
        clusters=len(table.names),
        claims=len(table.scores),
        unscored=0,
        unscored_share=unscored_share,
        unscored_low=None if figures.low is None else figures.low * scored,
        unscored_high=None if figures.high is None else figures.high * scored + unscored_share,
        effective_size=figures.size,
        variance=figures.variance,
        freedom=figures.freedom,
        refusals=(),
    )


class _Figures(NamedTuple):
    rate: float | None = None
    low: float | None = None
    high: float | None = None
    size: float | None = None
    variance: float | None = None
    freedom: float | None = None


def _choose_basis(
    table: ClaimTable, corrected: Influence | None, reasons: list[str], confidence: float
) -> tuple[Basis, _Figures]:
    if corrected is not None and not reasons:
        return "corrected", _bound(corrected, table.labelled_clusters, confidence)
    if table.labelled_clusters >= LEAST_FOR_LABELS:
        return "labels_only", _measure_labels(table, confidence)
    if not len(table.rows):  # said already
        return "none", _Figures()
    reasons.append(
        f"labels alone need {LEAST_FOR_LABELS} labelled clusters, and there "
        f"{'is' if table.labelled_clusters == 1 else 'are'} {table.labelled_clusters}"
    )
    return "none", _Figures()


def use_known_chances(table: ClaimTable) -> ClaimTable:
    """Leave out labels of unknown probability where others have a known one.

    Somebody chose those, for example as they looked wrong: beside a sample they would bias it.
    """
    known = ~np.isnan(table.chances)
    if known.all() or not known.any():
        return table
    return replace(
        table, rows=table.rows[known], told=table.told[known], chances=table.chances[known]
    )


def _find_refusals(table: ClaimTable) -> list[str]:
    """Return why labels can't carry a correction; empty when they can."""
    if not len(table.scores):
        return ["no claim of this window has a verdict"]
    if not len(table.rows):
        return ["nobody has labelled a claim of this window"]
    found = []
    labelled = table.labelled_clusters
    if labelled < LEAST_CLUSTERS:
        found.append(
            f"{pluralize(labelled, 'labelled cluster')} (conversations, documents or answers); a "
            f"correction needs {LEAST_CLUSTERS}"
        )
    rare = int(min(table.told.sum(), (~table.told).sum()))
    if rare < LEAST_RARE:
        kind = "supported" if table.told.sum() < (~table.told).sum() else "unsupported"
        found.append(
            f"{pluralize(rare, 'label')} {kind}; a correction needs {LEAST_RARE} of each kind"
        )
    pooled = _pool_small(table)
    shares = _sum_by(pooled.strata, pooled.weights, pooled) / max(pooled.weights.sum(), 1e-300)
    held = np.bincount(pooled.strata[pooled.rows], minlength=len(pooled.stratum_names))
    for name, share, labels in zip(pooled.stratum_names, shares, held, strict=True):
        if share > SMALL_STRATUM and labels < LEAST_IN_STRATUM:
            found.append(
                f"{pluralize(int(labels), 'label')} among claims judged “{name}”, "
                f"{show_percent(share)} of all; a correction needs {LEAST_IN_STRATUM} there"
            )
    return found


def _find_imbalance(corrected: Influence) -> list[str]:
    squares = corrected.parts**2
    top = float(squares.max()) / max(corrected.variance, 1e-300)
    if top <= MOST_OF_VARIANCE:
        return []
    name = str(corrected.names[int(squares.argmax())])
    return [
        f"one cluster ({name}) carries {show_percent(top)} of the variance; at most "
        f"{show_percent(MOST_OF_VARIANCE)} is allowed"
    ]


def _sum_by(places: Numbers, values: Floats, table: ClaimTable) -> Floats:
    return np.bincount(places, values, minlength=len(table.stratum_names)).astype(np.float64)


def _pool_small(table: ClaimTable) -> ClaimTable:
    """Take small strata with few labels together: alone, they say nothing."""
    total = max(float(table.weights.sum()), 1e-300)
    shares = _sum_by(table.strata, table.weights, table) / total
    held = np.bincount(table.strata[table.rows], minlength=len(table.stratum_names))
    few = (held < LEAST_IN_STRATUM) & (shares <= SMALL_STRATUM)
    if few.sum() < 2:
        return table
    kept = np.flatnonzero(~few)
    places = np.full(len(few), len(kept), dtype=np.intp)
    places[kept] = np.arange(len(kept))
    names = (*(table.stratum_names[place] for place in kept), _SMALL)
    return replace(table, strata=places[table.strata], stratum_names=names)


def correct_rate(table: ClaimTable, seed: int = 0) -> Influence:
    """Return the corrected rate with what every cluster adds to it.

    Method: with a the answers' weights, A their sum and A_h that of a stratum, g the recalibrated
    score, and e_h the mean of y - g over the labels of stratum h, each counted for what it stands
    for, the rate is R = sum a g / A + sum A_h e_h / A. A cluster moves it by
    psi = sum over its claims of a (g + e_h - R + d w (y - g - e_h)), d being 1 where labelled, and
    w bringing the labels of a stratum up to its claims. Strata with fewer than three labels of
    the rarer kind have at least the variance of Jeffreys' posterior (`_assume_thin`).
    """
    pooled = _pool_small(table)
    predicted = _recalibrate(pooled, seed)
    weights, strata, rows = pooled.weights, pooled.strata, pooled.rows
    total, stands, at = float(weights.sum()), pooled.stands, strata[rows]
    sizes = _sum_by(strata, weights, pooled)
    held = np.bincount(at, minlength=len(sizes))
    off = pooled.told - predicted[rows]
    known = np.maximum(_sum_by(at, stands, pooled), 1e-300)
    errors = _sum_by(at, stands * off, pooled) / known
    rate = float((weights @ predicted + sizes @ errors) / total)
    # A stratum's mean was fitted to its own labels: the root makes up for it.
    scale = np.sqrt(held / np.maximum(held - 1, 1))
    rest = stands * (sizes / known * scale)[at] * (off - errors[at]) / total
    claims = predicted
    claims += errors[strata]  # in their place: a year of claims is large
    claims[rows] += rest * total / weights[rows]
    parts = np.zeros(len(pooled.names))
    parts += np.bincount(pooled.clusters, weights * (claims - rate) / total, minlength=len(parts))
    return Influence(rate, pooled.names, parts, claims, _assume_thin(pooled, sizes / total, rest))


def _recalibrate(table: ClaimTable, seed: int) -> Floats:
    """Return every claim's probability of support by the labels of other folds of clusters."""
    folds = deal_items(np.arange(len(table.names)), seed).astype(np.int8)[table.clusters]
    at, stands = folds[table.rows], table.stands
    found = np.empty_like(table.scores)
    for fold in np.unique(folds):
        others = at != fold
        rows = table.rows[others]
        curve = fit_platt(
            LabelledScores(
                scores=table.scores[rows],
                supported=table.told[others],
                weights=stands[others],
                items=table.clusters[rows],
            )
        )
        inside = folds == fold
        found[inside] = apply_map(curve, table.scores[inside])
    return found


def _assume_thin(table: ClaimTable, shares: Floats, rest: Floats) -> float:
    """Return the variance that thin strata have by Jeffreys' posterior, beyond what they show.

    Thin bands of one verdict share a posterior: all of them hold next to no label of one kind.
    """
    at, stands = table.strata[table.rows], table.stands
    assumed = shown = 0.0
    for places in _list_thin(table):
        inside = np.isin(at, places)
        told = table.told[inside]
        weights = scale_factors(stands[inside], np.ones(len(told)))
        hits, misses = 0.5 + float(weights @ told), 0.5 + float(weights @ ~told)
        both = hits + misses
        assumed += float(shares[places].sum()) ** 2 * hits * misses / (both**2 * (both + 1))
        shown += float(rest[inside] @ rest[inside])
    return max(0.0, assumed - shown)


def _list_thin(table: ClaimTable) -> list[list[int]]:
    """Return the strata with fewer than three labels of the rarer kind, by verdict."""
    at = table.strata[table.rows]
    found: dict[str, list[int]] = {}
    for place, name in enumerate(table.stratum_names):
        told = table.told[at == place]
        if min(told.sum(), (~told).sum()) < _THIN:
            found.setdefault(name.partition("/")[0], []).append(place)
    return list(found.values())


def _bound(corrected: Influence, labelled: int, confidence: float) -> _Figures:
    """Return Wilson's range on the effective size, with Student's t."""
    rate = min(1.0, max(0.0, corrected.rate))
    variance = corrected.variance
    freedom = max(1.0, min(corrected.freedom, labelled - 1.0))
    quantile = float(special.stdtrit(freedom, (1 + confidence) / 2))
    # Near 0 and 1 a corrected rate may leave no room for its spread: half a label is always left.
    centre = min(max(rate, 0.5 / (labelled + 1)), 1 - 0.5 / (labelled + 1))
    size = centre * (1 - centre) / max(variance, 1e-300)
    low, high = wilson_bounds(rate, size, quantile)
    return _Figures(rate, max(0.0, low), min(1.0, high), size, variance, freedom)


def _measure_labels(table: ClaimTable, confidence: float) -> _Figures:
    """Return the rate and range of the labels alone, weighted, by cluster."""
    counted = _count_by_cluster(
        table.clusters[table.rows],
        scale_factors(table.stands, np.ones(len(table.rows))),
        table.told,
    )
    return _measure(counted, confidence)


def _measure_judge(table: ClaimTable, confidence: float) -> _Figures:
    """Return the share that the judge calls supported, with the range of sampling alone."""
    weights = scale_factors(table.weights, np.ones(len(table.weights)))
    return _measure(_count_by_cluster(table.clusters, weights, table.approved), confidence)


def _count_by_cluster(clusters: Numbers, weights: Floats, hits: Flags) -> Histogram:
    found = np.bincount(clusters, weights * hits), np.bincount(clusters, weights)
    # Sums of weights round: a cluster must not have more hits than units.
    return Histogram.from_clusters(np.minimum(*found), found[1])


def _measure(counted: Histogram, confidence: float) -> _Figures:
    interval = wilson_interval(counted, confidence)
    if interval is None:
        return _Figures()
    rate, size = counted.hits / counted.units, effective_size(counted)
    return _Figures(rate, interval.low, interval.high, size, rate * (1 - rate) / size)
