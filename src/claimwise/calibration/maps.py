"""Turns scores into probabilities, and probabilities into verdicts, by people's labels.

A map or a threshold that is measured on the claims it was fitted on looks better than it is, and
claims of one item resemble each other. So everything here is cross-fitted by item: items are
dealt into folds, and each claim is mapped by what was fitted on the other folds. What is kept
for use is then fitted on all of them.

Reference: Platt (1999), Probabilistic Outputs for Support Vector Machines; Lin, Lin & Weng
(2007), Machine Learning 68, 267-276, on its targets; Barlow et al. (1972), Statistical Inference
under Order Restrictions, on pooling adjacent violators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray
from scipy import special

from claimwise.calibration.values import MapFit, ProbabilityMap, Threshold
from claimwise.metrics.calibration_error import measure_error, measure_plain_error, sum_bins

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

FOLDS: Final = 5
LEAST_CLAIMS: Final = 50
LEAST_ITEMS: Final = 10
LEAST_FOR_ISOTONIC: Final = 200
"""Below this many claims, steps follow chance more than the instrument."""

_NEAREST: Final = 1e-3  # how near to 0 and 1 a probability may come: a log loss must stay finite
_STEPS: Final = 50


@dataclass(frozen=True, kw_only=True, slots=True)
class LabelledScores:
    """Scores of claims, whether people call them supported, their weights and their items.

    ``rejected`` are claims that the instrument calls something else than supported. Of those a
    score is at most one minus how sure it is of that very verdict, and not its probability of
    support, unless it knows two verdicts only.
    """

    scores: Floats
    supported: Flags
    weights: Floats
    items: NDArray[np.intp]
    rejected: Flags | None = None  # None: scores are all that is known

    def take(self, rows: Flags) -> LabelledScores:
        """Return some of the claims."""
        return LabelledScores(
            scores=self.scores[rows],
            supported=self.supported[rows],
            weights=self.weights[rows],
            items=self.items[rows],
            rejected=None if self.rejected is None else self.rejected[rows],
        )


def apply_map(chosen: ProbabilityMap, scores: Floats, rejected: Flags | None = None) -> Floats:
    """Return the probabilities that a map gives scores; ``rejected``: see `LabelledScores`."""
    if chosen.kind == "identity":
        return scores
    odds = chosen.slope * _log_odds(scores) + chosen.offset
    found: Floats = special.expit(
        odds if rejected is None else odds - (chosen.drop or 0.0) * rejected
    )
    if chosen.kind == "isotonic":
        places, values = np.array(chosen.points, dtype=np.float64).T
        found = np.interp(found, places, values)
    return found


def fit_map(scored: LabelledScores, seed: int = 0) -> MapFit | None:
    """Fit a map, and say what it does for items that it has not seen.

    Of Platt's map, an isotonic one (from 200 claims on) and the scores as they are, the one with
    the smallest held-out log loss is kept. None when there is too little to fit on: fewer than
    50 claims or 10 items, or only one kind of claim.
    """
    if not is_enough(scored):
        return None
    folds = deal_items(scored.items, seed)
    kinds = ["identity", "platt"]
    if len(scored.scores) >= LEAST_FOR_ISOTONIC:
        kinds.append("isotonic")
    held = {kind: _cross_fit(kind, scored, folds) for kind in kinds}
    losses = {kind: _log_loss(scored, mapped) for kind, mapped in held.items()}
    best = min(losses, key=losses.__getitem__)
    return MapFit(
        map=_FITTERS[best](scored),
        claims=len(scored.scores),
        folds=int(folds.max()) + 1,
        log_loss=losses,
        # With what chance adds: maps follow chance, so on held-out items less of it is left than
        # would be taken off, and that would promise too much.
        ece_before=measure_plain_error(sum_scored(scored, scored.scores)),
        ece_after=measure_plain_error(sum_scored(scored, held[best])),
    )


def find_thresholds(
    scored: LabelledScores, precision: float, seed: int = 0
) -> tuple[Threshold, ...]:
    """Return the score that separates best, and the least one that reaches a precision.

    Both are chosen on all claims; what they give is measured on items that were held out while
    another was chosen in the same way. A precision that no score reaches has no threshold.
    """
    if not is_enough(scored):
        return ()
    folds = deal_items(scored.items, seed)
    found = [
        Threshold(
            value=_separate(scored),
            aim="balanced accuracy",
            held_out=_hold_out_separation(scored, folds),
        )
    ]
    sure = _reach_precision(scored, precision)
    if sure is not None:
        found.append(
            Threshold(
                value=sure,
                aim="precision",
                held_out=_hold_out_precision(scored, folds, precision),
                target=precision,
            )
        )
    return tuple(found)


def is_enough(scored: LabelledScores) -> bool:
    """Tell whether there is enough to fit anything on."""
    return (
        len(scored.scores) >= LEAST_CLAIMS
        and len(np.unique(scored.items)) >= LEAST_ITEMS
        and 0 < int(scored.supported.sum()) < len(scored.supported)
    )


def deal_items(items: NDArray[np.intp], seed: int) -> NDArray[np.intp]:
    """Deal items into folds, as even as can be; return every claim's fold."""
    names, codes = np.unique(items, return_inverse=True)
    order = np.random.Generator(np.random.PCG64(seed)).permutation(len(names))
    folds = np.empty(len(names), dtype=np.intp)
    folds[order] = np.arange(len(names)) % min(FOLDS, len(names))
    return folds[codes]


def measure_ece(scored: LabelledScores, mapped: Floats) -> float:
    """Return the expected calibration error, less what chance adds (`measure_errors`)."""
    return measure_error(sum_scored(scored, mapped))


def sum_scored(scored: LabelledScores, mapped: Floats) -> Floats:
    """Return what every item adds to the bins of the calibration error."""
    _, items = np.unique(scored.items, return_inverse=True)
    return sum_bins(mapped, scored.supported, scored.weights, items)


def fit_platt(scored: LabelledScores) -> ProbabilityMap:
    """Fit a logistic curve over the log-odds of the scores, by Newton's method.

    Verdicts other than supported have a curve of their own, lower by ``drop`` and otherwise alike:
    an instrument that tells several of them apart is often unsure which one it is, and sure that
    the claim is not supported. Labels are replaced by Platt's targets, (n + 1) / (n + 2) and
    1 / (n + 2), so that the curve stays finite where scores separate the labels. A curve that would
    fall becomes flat, and no drop is a rise: an instrument may know nothing, but turning it upside
    down is no calibration.
    """
    columns = {"slope": _log_odds(scored.scores), "offset": np.ones(len(scored.scores))}
    if scored.rejected is not None and scored.rejected.any():
        columns["drop"] = -scored.rejected.astype(np.float64)
    targets = _soften(scored)
    while True:
        places = np.column_stack(list(columns.values()))
        found = dict(zip(columns, _climb(places, targets, scored.weights).tolist(), strict=True))
        wrong = [name for name in ("slope", "drop") if found.get(name, 0.0) < 0]
        if not wrong:
            return ProbabilityMap(kind="platt", **{"slope": 0.0, "drop": 0.0, **found})
        del columns[wrong[0]]


def fit_isotonic(scored: LabelledScores) -> ProbabilityMap:
    """Fit the rising curve that is nearest to the labels, by pooling adjacent violators.

    Equal scores are one place. Every level is pulled towards the overall share by one claim, so
    that no probability is 0 or 1, and levels that this turns round are pooled too; between the
    middles of the levels the curve is straight. Where verdicts other than supported are lower,
    Platt's curve says where among the others they belong.
    """
    curve = fit_platt(scored)
    base = ProbabilityMap(kind="isotonic", drop=0.0)
    at = scored.scores
    if curve.drop:
        base, at = replace(curve, kind="isotonic"), apply_map(curve, at, scored.rejected)
    places, codes = np.unique(at, return_inverse=True)
    weights = np.bincount(codes, weights=scored.weights)
    hits = np.bincount(codes, weights=scored.weights * scored.supported)
    share = float(hits.sum() / weights.sum())
    unit = float(weights.sum()) / len(scored.scores)  # the weight of one claim
    single = [_Level(*one) for one in zip(weights, hits, weights * places, strict=True)]
    levels = _pool(_pool(single, 0.0, share), unit, share)
    points = tuple((float(one.at / one.weight), one.pull(unit, share)) for one in levels)
    return replace(base, points=points)


class _Level(NamedTuple):
    """Claims that an isotonic map gives one probability."""

    weight: float
    hits: float
    at: float  # weight times place

    def pull(self, unit: float, share: float) -> float:
        """Return the share of hits, pulled towards another by a weight."""
        return float((self.hits + unit * share) / (self.weight + unit))


def _pool(levels: Sequence[_Level], unit: float, share: float) -> list[_Level]:
    """Put neighbours together until every level is above the one before."""
    found: list[_Level] = []
    for level in levels:
        found.append(level)
        while len(found) > 1 and found[-2].pull(unit, share) >= found[-1].pull(unit, share):
            last = found.pop()
            found[-1] = _Level(*(a + b for a, b in zip(found[-1], last, strict=True)))
    return found


def _keep_scores(scored: LabelledScores) -> ProbabilityMap:
    return ProbabilityMap(kind="identity", drop=0.0)


_FITTERS: Final = {"identity": _keep_scores, "platt": fit_platt, "isotonic": fit_isotonic}


def _cross_fit(kind: str, scored: LabelledScores, folds: NDArray[np.intp]) -> Floats:
    mapped = np.empty_like(scored.scores)
    for fold in np.unique(folds):
        out = folds == fold
        fitted = _FITTERS[kind](scored.take(~out))
        rejected = None if scored.rejected is None else scored.rejected[out]
        mapped[out] = apply_map(fitted, scored.scores[out], rejected)
    return mapped


def _log_loss(scored: LabelledScores, mapped: Floats) -> float:
    safe = np.clip(mapped, _NEAREST, 1 - _NEAREST)
    losses = -np.log(np.where(scored.supported, safe, 1 - safe))
    return float(np.average(losses, weights=scored.weights))


def _log_odds(scores: Floats) -> Floats:
    found: Floats = special.logit(np.clip(scores, _NEAREST, 1 - _NEAREST))
    return found


def _soften(scored: LabelledScores) -> Floats:
    yes = int(scored.supported.sum())
    no = len(scored.supported) - yes
    return np.where(scored.supported, (yes + 1) / (yes + 2), 1 / (no + 2))


def _climb(places: Floats, targets: Floats, weights: Floats) -> Floats:
    """Return the coefficients of a logistic curve; a trace of ridge keeps every step defined."""
    found = np.zeros(places.shape[1])
    ridge = 1e-9 * weights.sum() * np.eye(places.shape[1])
    for _ in range(_STEPS):
        share = special.expit(places @ found)
        slope = places.T @ (weights * (targets - share))
        bend = (places * (weights * share * (1 - share))[:, None]).T @ places + ridge
        # A long step may overshoot where the curve is nearly flat.
        step = np.clip(np.linalg.solve(bend, slope), -5, 5)
        found = found + step
        if np.abs(step).max() < 1e-9:
            break
    return found


def _separate(scored: LabelledScores) -> float:
    """Return the threshold with the highest balanced accuracy, in the middle of its gap."""
    order = np.argsort(scored.scores, kind="stable")
    scores, supported = scored.scores[order], scored.supported[order]
    weights = scored.weights[order]
    yes, no = weights * supported, weights * ~supported
    # Entry k: the first k claims are called unsupported, the others supported.
    kept = 1 - np.concatenate(([0.0], np.cumsum(yes))) / max(yes.sum(), 1e-300)
    rejected = np.concatenate(([0.0], np.cumsum(no))) / max(no.sum(), 1e-300)
    gains = kept + rejected
    gains[1:-1][scores[1:] == scores[:-1]] = -1.0  # no threshold lies between equal scores
    best = int(np.argmax(np.round(gains, 12)))
    if best == 0:
        return 0.0
    if best == len(scores):
        return float(np.nextafter(scores[-1], 2.0))
    return float((scores[best - 1] + scores[best]) / 2)


def _reach_precision(scored: LabelledScores, precision: float) -> float | None:
    """Return the least score from which on enough claims are supported; None when there is none."""
    order = np.argsort(-scored.scores, kind="stable")
    weights = scored.weights[order]
    shares = np.cumsum(weights * scored.supported[order]) / np.cumsum(weights)
    scores = scored.scores[order]
    ends = np.append(scores[1:] != scores[:-1], True)  # equal scores come together
    enough = np.flatnonzero(ends & (shares >= precision))
    return float(scores[enough[-1]]) if enough.size else None


def _hold_out_separation(scored: LabelledScores, folds: NDArray[np.intp]) -> float | None:
    judged = np.zeros(len(scored.scores), dtype=bool)
    for fold in np.unique(folds):
        out = folds == fold
        judged[out] = scored.scores[out] >= _separate(scored.take(~out))
    weights, supported = scored.weights, scored.supported
    sides = [(judged, supported), (~judged, ~supported)]
    return float(np.mean([weights[right & of].sum() / weights[of].sum() for right, of in sides]))


def _hold_out_precision(
    scored: LabelledScores, folds: NDArray[np.intp], precision: float
) -> float | None:
    judged = np.zeros(len(scored.scores), dtype=bool)
    for fold in np.unique(folds):
        out = folds == fold
        threshold = _reach_precision(scored.take(~out), precision)
        if threshold is not None:
            judged[out] = scored.scores[out] >= threshold
    total = float(scored.weights[judged].sum())
    return float(scored.weights[judged & scored.supported].sum()) / total if total else None
