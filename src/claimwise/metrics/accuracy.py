"""How well a verifier's scores agree with labels: figures, intervals, differences, means.

Scores are probabilities of support; NaN is an unscored claim, which is counted and kept out of
every rate. Claims of one group (an answer, an item) are right or wrong together, so intervals
resample whole groups. A resample is kept as the number of times that each group was drawn: every
figure but the AUC is then made of sums over groups, and the AUC of weighted ranks.

The same groups and seed draw the same resamples. Two instruments that are measured on the same
rows with the same seed are therefore paired without further ado.

Reference: Davison & Hinkley (1997), Bootstrap Methods and their Application, sections 2.4 and
3.8; Field & Welsh (2007), JRSS B 69, 369-390, on resampling clusters.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from claimwise.metrics.calibration_error import bound_error, measure_errors, sum_bins
from claimwise.types.accuracy import Accuracy, AccuracyGain, Bounds, MacroAccuracy

FIGURES: Final = ("auc", "balanced_accuracy", "sensitivity", "specificity", "ece", "brier")
"""Figures that have an interval."""

COMPARED: Final = ("balanced_accuracy", "auc")
"""Figures whose difference to another instrument has an interval."""

_BLOCK_CELLS = 2_000_000  # 16 MB a temporary array, however many resamples are asked for

_ROUNDING = 1e-6  # how far sums of single-precision numbers may stray past 0 and 1

Floats = NDArray[np.float64]
Draws = Mapping[str, Floats]
"""A figure's value in every resample; NaN where it is undefined there."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Resampling:
    """How intervals are made."""

    resamples: int = 2000
    seed: int | tuple[int, ...] = 0
    confidence: float = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Rating:
    """One instrument's scores for one set; ``groups`` are numbers from 0."""

    scores: Floats
    labels: NDArray[np.bool_]
    groups: NDArray[np.intp]
    group_count: int
    threshold: float

    @property
    def scored(self) -> NDArray[np.bool_]:
        """Which claims have a score."""
        return ~np.isnan(self.scores)


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredAccuracy:
    """An instrument's accuracy on one set, and the resamples behind it."""

    accuracy: Accuracy
    rating: Rating
    draws: Draws


@dataclass(frozen=True, kw_only=True, slots=True)
class Compared:
    """An instrument's lead over another on one set, and the resamples behind it."""

    difference: AccuracyGain
    draws: Draws


@dataclass(frozen=True, kw_only=True, slots=True)
class _Ranks:
    """What the AUC needs of a set: groups of its scored claims, in the order of their scores.

    ``below`` and ``not_above`` say, for each supported claim, how many of the unsupported ones
    score less, and how many at most as much.
    """

    supported: NDArray[np.intp]
    unsupported: NDArray[np.intp]
    below: NDArray[np.intp]
    not_above: NDArray[np.intp]


def rate_claims(
    scores: ArrayLike, labels: Sequence[bool], groups: Sequence[str], threshold: float
) -> Rating:
    """Bring an instrument's scores, the labels and the groups of a set together.

    Raises:
        ValueError: lengths differ, or a score is neither a probability nor NaN.
    """
    values = np.asarray(scores, dtype=np.float64)
    if not len(values) == len(labels) == len(groups):
        raise ValueError(
            f"found {len(values)} scores, {len(labels)} labels and {len(groups)} groups; "
            "expected as many of each"
        )
    wrong = values[(values < -_ROUNDING) | (values > 1 + _ROUNDING)]
    if wrong.size:
        raise ValueError(f"found the score {wrong[0]}, expected a probability or NaN")
    names, codes = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    return Rating(
        scores=np.clip(values, 0, 1),
        labels=np.asarray(labels, dtype=bool),
        groups=codes,
        group_count=len(names),
        threshold=threshold,
    )


def measure_set(rating: Rating, how: Resampling) -> MeasuredAccuracy:
    """Measure one instrument on one set.

    Intervals are percentiles over resamples of whole groups (that of the calibration error is
    turned, see `_turn`). Resamples where a figure is undefined are left out of its interval.
    There is none with fewer than two groups, nor where all resamples agree, as when every claim
    is right: resampling shows no spread then, which does not mean that there is none.
    """
    figures = compute_figures(rating)
    draws = resample_figures(rating, how)
    accuracy = Accuracy(
        n=len(rating.scores),
        unscored=int(np.count_nonzero(~rating.scored)),
        groups=rating.group_count,
        prevalence=float(rating.labels.mean()) if len(rating.labels) else None,
        balanced_accuracy_bounds=_bound_balanced_accuracy(rating),
        intervals={
            name: _interval(name, figures[name], draws[name], how.confidence) for name in FIGURES
        },
        difference=None,
        **figures,
    )
    return MeasuredAccuracy(accuracy=accuracy, rating=rating, draws=draws)


def compare_sets(one: MeasuredAccuracy, other: MeasuredAccuracy, how: Resampling) -> Compared:
    """Measure how far one instrument leads another on the rows of one set that both scored.

    Both must have been measured on the same rows by the same ``how``. The interval is that of
    the difference within each resample, so what makes a claim hard for both does not widen it.
    """
    if not np.array_equal(one.rating.groups, other.rating.groups):
        raise ValueError("the rows differ; two judges can only be compared on the same set")
    if not np.array_equal(one.rating.scored, other.rating.scored):
        one, other = _restrict(one, other, how), _restrict(other, one, how)
    draws = {name: one.draws[name] - other.draws[name] for name in COMPARED}
    gaps = {
        name: _subtract(getattr(one.accuracy, name), getattr(other.accuracy, name))
        for name in COMPARED
    }
    return Compared(difference=_difference(gaps, draws, how.confidence), draws=draws)


def average_sets(
    measured: Sequence[MeasuredAccuracy],
    compared: Sequence[Compared] = (),
    *,
    confidence: float = 0.95,
) -> MacroAccuracy:
    """Average one instrument's figures over sets: every set weighs the same.

    A set where a figure is undefined is left out of its mean, and counted. Sets are resampled
    independently, so the mean of one resample of each is one resample of the mean. With a single
    group in one of the sets, the means have no interval: nothing shows how that set varies.
    """
    figures, bands = {}, {}
    for name in FIGURES:
        figures[name], draws = _average(
            [(getattr(m.accuracy, name), m.draws[name]) for m in measured]
        )
        bands[name] = _interval(name, figures[name], draws, confidence)
    accuracies = [m.accuracy for m in measured]
    return MacroAccuracy(
        n=sum(a.n for a in accuracies),
        unscored=sum(a.unscored for a in accuracies),
        groups=sum(a.groups for a in accuracies),
        prevalence=_mean([a.prevalence for a in accuracies]),
        balanced_accuracy_bounds=_average_bounds(accuracies),
        intervals=bands,
        difference=_average_differences(compared, confidence) if compared else None,
        sets=len(measured),
        left_out={name: sum(getattr(a, name) is None for a in accuracies) for name in FIGURES},
        **figures,
    )


def compute_figures(rating: Rating) -> dict[str, float | None]:
    """Compute all figures of a set; those that are undefined are None.

    - ``auc``: the chance that a supported claim scores above an unsupported one, ties half.
    - ``sensitivity``: the share of supported claims that score at least the threshold.
    - ``specificity``: the share of unsupported claims that score below it.
    - ``balanced_accuracy``: the mean of the two.
    - ``ece``: expected calibration error. Scores fall into ten bins of equal width; the mean
      score of a bin minus its share of supported claims, without sign, weighted by its claims;
      less what chance adds to it (`measure_errors`).
    - ``brier``: the mean squared distance between score and label.

    Reference: Hanley & McNeil (1982), Radiology 143, 29-36; Naeini, Cooper & Hauskrecht (2015),
    AAAI 29; Brier (1950), Monthly Weather Review 78, 1-3.
    """
    once = np.ones((1, rating.group_count))
    return {name: _known(values[0]) for name, values in _weigh_figures(rating, [once]).items()}


def resample_figures(rating: Rating, how: Resampling) -> Draws:
    """Compute all figures in every resample of groups.

    Method: as many groups as there are, drawn with replacement. A group weighs as often as it
    was drawn. One group says nothing of others: all figures are NaN then.
    """
    if rating.group_count < 2:
        return {name: np.full(how.resamples, np.nan) for name in FIGURES}
    return _weigh_figures(rating, _draw_groups(rating, how))


def _draw_groups(rating: Rating, how: Resampling) -> Iterator[Floats]:
    """Yield in blocks how often each group was drawn: a line for each resample."""
    generator = np.random.Generator(np.random.PCG64(how.seed))
    groups = rating.group_count
    step = max(1, _BLOCK_CELLS // max(len(rating.scores), 1))
    for start in range(0, how.resamples, step):
        size = min(step, how.resamples - start)
        drawn = generator.integers(0, groups, size=(size, groups))
        drawn += np.arange(size)[:, None] * groups
        counts = np.bincount(drawn.ravel(), minlength=size * groups)
        yield counts.reshape(size, groups).astype(np.float64)


def _weigh_figures(rating: Rating, blocks: Iterable[Floats]) -> dict[str, Floats]:
    """Compute all figures for blocks of group weights."""
    sums, bins, ranks = _sum_groups(rating), _sum_bins(rating), _rank(rating)
    parts = [
        {
            "auc": _weigh_ranks(ranks, block),
            "ece": measure_errors(bins, block),
            **_weigh_sums(sums, block),
        }
        for block in blocks
    ]
    return {name: np.concatenate([part[name] for part in parts]) for name in FIGURES}


def _sum_groups(rating: Rating) -> Floats:
    """Return what every group adds to the figures, a line for each group.

    Columns: supported claims, unsupported claims, the rightly judged of each, squared distances.
    """
    rows = rating.scored
    scores, labels = rating.scores[rows], rating.labels[rows]
    judged = scores >= rating.threshold
    parts = (labels, ~labels, labels & judged, ~labels & ~judged, (scores - labels) ** 2)
    sums = np.zeros((rating.group_count, len(parts)))
    np.add.at(sums, rating.groups[rows], np.column_stack(parts))
    return sums


def _sum_bins(rating: Rating) -> Floats:
    """Return what every group adds to the bins of the calibration error."""
    rows = rating.scored
    found = sum_bins(
        rating.scores[rows],
        rating.labels[rows],
        np.ones(int(rows.sum())),
        rating.groups[rows],
    )
    # Groups without any score stand at the end, or are rows of zeros.
    return np.pad(found, ((0, rating.group_count - len(found)), (0, 0), (0, 0)))


def _weigh_sums(sums: Floats, weights: Floats) -> dict[str, Floats]:
    """Compute every figure but AUC and ECE; 0 / 0 is NaN, which stands for undefined."""
    totals = weights @ sums
    supported, unsupported, hits, rejections, squares = totals.T
    claims = supported + unsupported
    with np.errstate(invalid="ignore", divide="ignore"):
        sensitivity = hits / supported
        specificity = rejections / unsupported
        return {
            "sensitivity": sensitivity,
            "specificity": specificity,
            "balanced_accuracy": (sensitivity + specificity) / 2,
            "brier": squares / claims,
        }


def _rank(rating: Rating) -> _Ranks:
    order = np.argsort(rating.scores, kind="stable")
    order = order[rating.scored[order]]
    supported, unsupported = order[rating.labels[order]], order[~rating.labels[order]]
    scores = rating.scores[unsupported]
    return _Ranks(
        supported=rating.groups[supported],
        unsupported=rating.groups[unsupported],
        below=np.searchsorted(scores, rating.scores[supported], side="left"),
        not_above=np.searchsorted(scores, rating.scores[supported], side="right"),
    )


def _weigh_ranks(ranks: _Ranks, weights: Floats) -> Floats:
    """Compute the AUC: pairs in the right order over all pairs, ties half (midranks)."""
    supported = weights.take(ranks.supported, axis=1)
    counted = np.zeros((len(weights), len(ranks.unsupported) + 1))
    np.cumsum(weights.take(ranks.unsupported, axis=1), axis=1, out=counted[:, 1:])
    right = _sum_products(supported, counted.take(ranks.below, axis=1))
    right_or_tied = _sum_products(supported, counted.take(ranks.not_above, axis=1))
    pairs = supported.sum(axis=1) * counted[:, -1]
    with np.errstate(invalid="ignore"):
        share: Floats = (right + right_or_tied) / (2 * pairs)
    return share


def _sum_products(one: Floats, other: Floats) -> Floats:
    total: Floats = np.einsum("ij,ij->i", one, other)
    return total


def _bound_balanced_accuracy(rating: Rating) -> Bounds | None:
    """Return the balanced accuracy if all unscored claims were judged wrongly, and rightly."""
    labels, scored = rating.labels, rating.scored
    if not 0 < labels.sum() < len(labels):
        return None
    right = scored & ((rating.scores >= rating.threshold) == labels)
    low, high = (
        float(judged[labels].mean() + judged[~labels].mean()) / 2
        for judged in (right, right | ~scored)
    )
    return low, high


def _restrict(one: MeasuredAccuracy, other: MeasuredAccuracy, how: Resampling) -> MeasuredAccuracy:
    """Measure an instrument again, on the claims that another one scored too."""
    scores = np.where(other.rating.scored, one.rating.scores, np.nan)
    return measure_set(replace(one.rating, scores=scores), how)


def _difference(gaps: Mapping[str, float | None], draws: Draws, confidence: float) -> AccuracyGain:
    bounds = {
        name: None if gap is None else _quantiles(draws[name], confidence)
        for name, gap in gaps.items()
    }
    return AccuracyGain(
        balanced_accuracy=gaps["balanced_accuracy"],
        interval=bounds["balanced_accuracy"],
        auc=gaps["auc"],
        auc_interval=bounds["auc"],
    )


def _average_differences(compared: Sequence[Compared], confidence: float) -> AccuracyGain:
    gaps, draws = {}, {}
    for name in COMPARED:
        gaps[name], draws[name] = _average(
            [(getattr(c.difference, name), c.draws[name]) for c in compared]
        )
    return _difference(gaps, draws, confidence)


def _average(parts: Sequence[tuple[float | None, Floats]]) -> tuple[float | None, Floats]:
    """Average a figure, and each of its resamples, over the sets that define it."""
    defined = [(figure, draws) for figure, draws in parts if figure is not None]
    if not defined:
        return None, np.array([])
    resamples = [_fill(draws) for _, draws in defined]
    return _mean([figure for figure, _ in defined]), np.mean(resamples, axis=0)


def _fill(draws: Floats) -> Floats:
    """Put other resamples of the same set in the place of undefined ones.

    Resamples of a set are alike and independent of other sets', so any may stand for any. With
    none that is defined, nothing can be filled.
    """
    defined = draws[~np.isnan(draws)]
    return np.resize(defined, len(draws)) if defined.size else draws


def _average_bounds(accuracies: Sequence[Accuracy]) -> Bounds | None:
    bounds = [a.balanced_accuracy_bounds for a in accuracies if a.balanced_accuracy_bounds]
    if not bounds:
        return None
    low, high = np.mean(bounds, axis=0)
    return float(low), float(high)


def _subtract(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one - other


def _mean(figures: Sequence[float | None]) -> float | None:
    known = [figure for figure in figures if figure is not None]
    return sum(known) / len(known) if known else None


def _interval(name: str, figure: float | None, draws: Floats, confidence: float) -> Bounds | None:
    """Return the interval of a figure; None where there is nothing to see (`measure_set`)."""
    bounds = None if figure is None else _quantiles(draws, confidence)
    if figure is None or bounds is None or bounds[0] == bounds[1]:
        return None
    return bound_error(figure, draws, confidence) if name == "ece" else bounds


def _quantiles(draws: Floats, confidence: float) -> Bounds | None:
    defined = draws[~np.isnan(draws)]
    if not defined.size:
        return None
    low, high = np.quantile(defined, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _known(value: float) -> float | None:
    return None if np.isnan(value) else float(value)
