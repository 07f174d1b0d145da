"""What an instrument's verdicts are worth, measured on claims that people labelled too.

Claims of one item are right or wrong together, so every interval rests on items. Where rounds
drew claims with unequal chances, each counts for as many as it was drawn from (weights.py
says how many that is; for labels of rounds that the store does not know, 1 / probability); a claim
that was not drawn at all counts for itself.

The instrument's score of a claim is its confidence where it says “supported”, and one minus its
confidence elsewhere: one scale for both sides of the decision that rates and gates rest on.

Balanced accuracy decides whether an instrument is trusted, and not raw agreement: where 95 % of
the claims are supported, calling all of them supported agrees with people on 95 %, and has a
balanced accuracy of one half. Kappa says how it compares with people, who have no right answer
to be measured by.

Reference: Brodersen et al. (2010), ICPR, on balanced accuracy; Zou (2007), Psychological Methods
12, 399-413, on combining the intervals of two correlated figures; Kish (1965), Survey Sampling,
section 11.7, on the price of unequal weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import sqrt
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from claimwise.agreement.coefficients import find_kappas, measure_fleiss, measure_tables, rate_units
from claimwise.agreement.values import Figure
from claimwise.calibration.maps import LabelledScores, sum_scored
from claimwise.calibration.values import Bin, JudgedClaim, PeopleAgreement, VerdictAccuracy
from claimwise.metrics.calibration_error import (
    BINS,
    bound_error,
    find_bins,
    measure_error,
    measure_errors,
)
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval
from claimwise.types.rows import SMALLEST_CHANCE, Judgement
from claimwise.types.verdicts import CHOICES

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

SUPPORTED: Final[dict[Judgement, str]] = {"grounded": "supported", "closed_book": "true"}
"""The verdict that counts for a claim."""

RESAMPLES: Final = 1000
NO_CLAIMS: Final = "no claims"
NO_OVERLAP: Final = "no claim has labels of two people"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ClaimArrays:
    """Claims as arrays. Weights add up to the number of claims that they are worth."""

    said: NDArray[np.intp]  # numbers of verdicts
    told: NDArray[np.intp]
    items: NDArray[np.intp]  # from 0
    weights: Floats
    confidences: Floats  # NaN where there is none
    counts: NDArray[np.intp]  # claims by verdicts: what people said, where several did
    weighted: bool
    judgement: Judgement
    confidence: float  # of intervals

    @property
    def item_count(self) -> int:
        """How many items there are."""
        return int(self.items.max(initial=-1)) + 1

    @property
    def says(self) -> Flags:
        """Which claims the instrument calls supported."""
        return self._find_supported(self.said)

    @property
    def holds(self) -> Flags:
        """Which claims people call supported."""
        return self._find_supported(self.told)

    @property
    def scored(self) -> LabelledScores:
        """The claims that have a confidence, with their scores."""
        scores = np.where(self.says, self.confidences, 1 - self.confidences)
        known = ~np.isnan(scores)
        whole = LabelledScores(
            scores=scores,
            supported=self.holds,
            weights=self.weights,
            items=self.items,
            rejected=~self.says,
        )
        return whole.take(known)

    def _find_supported(self, verdicts: NDArray[np.intp]) -> Flags:
        found: Flags = verdicts == CHOICES[self.judgement].index(SUPPORTED[self.judgement])
        return found


def _read_chance(claim: JudgedClaim) -> float:
    """Return a claim's chance of being drawn; imports of older versions took any above 0."""
    return max(SMALLEST_CHANCE, claim.inclusion_probability or 1.0)


def read_claims(
    claims: Sequence[JudgedClaim],
    judgement: Judgement,
    confidence: float = 0.95,
    clusters: Mapping[str, str] = MappingProxyType({}),
) -> ClaimArrays:
    """Turn claims into arrays, and scale their weights.

    Weights are scaled to add up to (sum w)^2 / sum w^2: the number of claims, drawn with equal
    chances, that would say as much (Kish). Items of one of the clusters count as one item.
    """
    choices = {verdict: number for number, verdict in enumerate(CHOICES[judgement])}
    _, items = np.unique(
        [clusters.get(claim.item_id, claim.item_id) for claim in claims], return_inverse=True
    )
    raw = np.array([claim.weight or 1 / _read_chance(claim) for claim in claims])
    worth = float(raw.sum() ** 2 / (raw @ raw)) if len(raw) else 0.0
    counts = np.zeros((len(claims), len(choices)), dtype=np.intp)
    for row, claim in enumerate(claims):
        for verdict in claim.ratings:
            counts[row, choices[verdict]] += 1
    return ClaimArrays(
        said=np.array([choices[claim.said] for claim in claims], dtype=np.intp),
        told=np.array([choices[claim.told] for claim in claims], dtype=np.intp),
        items=items.astype(np.intp),
        weights=raw * (worth / raw.sum()) if len(raw) else raw,
        confidences=np.array(
            [np.nan if c.confidence is None else c.confidence for c in claims], dtype=np.float64
        ),
        counts=counts,
        weighted=bool(len(raw) and np.ptp(raw) > 0),
        judgement=judgement,
        confidence=confidence,
    )


def measure_share(
    judged: ClaimArrays, hits: Flags, among: Flags, *, why: str = NO_CLAIMS
) -> Figure:
    """Measure the share of hits among some claims: Wilson's interval over items."""
    found = _count_share(judged, hits, among)
    interval = wilson_interval(found, judged.confidence)
    if interval is None:
        return Figure(value=None, why=why)
    return Figure(value=found.hits / found.units, low=interval.low, high=interval.high)


def measure_balanced(judged: ClaimArrays) -> Figure:
    """Measure the mean of sensitivity and specificity.

    Method: the distances from either to the ends of its own interval are added as variances are,
    with the correlation that the items show. Ends are therefore right where one of the shares is
    0 or 1, and a resampling would see no spread. One item says nothing of others: [0, 1]. None
    without supported and unsupported claims.
    """
    holds, says = judged.holds, judged.says
    sides = [measure_share(judged, says, holds), measure_share(judged, ~says, ~holds)]
    if any(side.value is None for side in sides):
        return Figure(value=None, why="people call all claims supported, or none")
    together = _correlate(judged, (says, holds), (~says, ~holds))
    middle = float(np.mean([side.value for side in sides]))
    if judged.item_count < 2:
        return Figure(value=middle, low=0.0, high=1.0)
    below = [(side.value or 0.0) - (side.low or 0.0) for side in sides]
    above = [(side.high or 0.0) - (side.value or 0.0) for side in sides]
    low = middle - _add_reaches(below, together) / 2
    high = middle + _add_reaches(above, together) / 2
    return Figure(value=middle, low=max(0.0, low), high=min(1.0, high))


def measure_kappa(judged: ClaimArrays) -> Figure:
    """Measure Cohen's kappa of the instrument's verdicts and the people's deciding ones."""
    if not len(judged.said):
        return Figure(value=None, why=NO_CLAIMS)
    size = judged.counts.shape[1]
    tables = np.zeros((judged.item_count, size, size))
    np.add.at(tables, (judged.items, judged.said, judged.told), judged.weights)
    return measure_tables(tables, judged.confidence)


def measure_verdicts(judged: ClaimArrays) -> tuple[VerdictAccuracy, ...]:
    """Measure precision and recall of every verdict that somebody gave."""
    found = []
    for number, verdict in enumerate(CHOICES[judged.judgement]):
        said, told = judged.said == number, judged.told == number
        if said.any() or told.any():
            found.append(
                VerdictAccuracy(
                    verdict=verdict,
                    said=int(said.sum()),
                    told=int(told.sum()),
                    precision=measure_share(judged, told, said, why="the judge never says it"),
                    recall=measure_share(judged, said, told, why="people never say it"),
                )
            )
    return tuple(found)


def compare_with_people(judged: ClaimArrays) -> PeopleAgreement:
    """Measure people among themselves, and the instrument with them, on the same claims.

    Claims that several people labelled count; adjudications don't, as nobody has to agree with
    them. The instrument is compared with each person's label, each claim weighing the same.
    """
    several = judged.counts.sum(axis=1) >= 2
    if not several.any():
        nothing = Figure(value=None, why=NO_OVERLAP)
        return PeopleAgreement(
            claims=0, items=0, kappa=nothing, instrument_kappa=nothing, gap=nothing
        )
    counts = judged.counts[several]
    names, items = np.unique(judged.items[several], return_inverse=True)
    ratings = rate_units(_spread_ratings(counts), [str(item) for item in items], counts.shape[1])
    people = measure_fleiss(ratings, judged.confidence)
    among, with_people = _tabulate_pairs(counts, judged.said[several], items, len(names))
    instrument = measure_tables(with_people, judged.confidence)
    return PeopleAgreement(
        claims=len(counts),
        items=len(names),
        kappa=people,
        instrument_kappa=instrument,
        gap=_measure_gap(people, instrument, among, with_people),
    )


def measure_bins(judged: ClaimArrays) -> tuple[Bin, ...]:
    """Measure, for claims of similar scores, which share people call supported."""
    scored = judged.scored
    bins = find_bins(scored.scores)
    known = _restrict(judged, ~np.isnan(judged.confidences))
    found = []
    for number in np.unique(bins):
        inside = bins == number
        found.append(
            Bin(
                low=float(number) / BINS,
                high=float(number + 1) / BINS,
                claims=int(inside.sum()),
                mean_score=float(np.average(scored.scores[inside], weights=scored.weights[inside])),
                observed=measure_share(known, known.holds, inside),
            )
        )
    return tuple(found)


def measure_calibration_error(judged: ClaimArrays, seed: int = 0) -> Figure:
    """Measure the expected calibration error of the scores, less what chance adds.

    Interval: whole items are resampled (`bound_error`). Scores that are exactly right have an error
    of 0, and the interval holds it.
    """
    scored = judged.scored
    if not len(scored.scores):
        return Figure(value=None, why="no claim has a confidence")
    sums = sum_scored(scored, scored.scores)
    value, items = measure_error(sums), len(sums)
    if items < 2:
        return Figure(value=value, why="no interval: all claims belong to one item")
    generator = np.random.Generator(np.random.PCG64(seed))
    drawn = generator.multinomial(items, np.full(items, 1 / items), size=RESAMPLES)
    bounds = bound_error(value, measure_errors(sums, drawn.astype(float)), judged.confidence)
    low, high = bounds or (None, None)
    return Figure(value=value, low=low, high=high)


def count_matrix(judged: ClaimArrays) -> dict[str, dict[str, int]]:
    """Count claims by the instrument's verdict and the people's, unweighted."""
    choices = CHOICES[judged.judgement]
    table = np.zeros((len(choices), len(choices)), dtype=np.intp)
    np.add.at(table, (judged.said, judged.told), 1)
    return {
        said: {told: int(table[row, column]) for column, told in enumerate(choices)}
        for row, said in enumerate(choices)
    }


def _count_share(judged: ClaimArrays, hits: Flags, among: Flags) -> Histogram:
    """Count items by their weighted hits and claims; trials are what the weights are worth."""
    weights = np.where(among, judged.weights, 0.0)
    units = np.bincount(judged.items, weights=weights, minlength=judged.item_count)
    found = np.bincount(
        judged.items, weights=np.where(hits, weights, 0.0), minlength=judged.item_count
    )
    counted = Histogram.from_clusters(found, units)
    if not counted.items:
        return counted
    return replace(counted, trials=float(weights.sum() ** 2 / (weights @ weights)))


def _correlate(judged: ClaimArrays, one: tuple[Flags, Flags], other: tuple[Flags, Flags]) -> float:
    """Return how far two shares vary together over items; 0 where one does not vary."""
    residuals: list[Floats] = []
    for hits, among in (one, other):
        weights = np.where(among, judged.weights, 0.0)
        share = float(weights[hits].sum() / weights.sum())
        parts = weights * (hits - share)
        residuals.append(np.bincount(judged.items, parts, judged.item_count).astype(np.float64))
    return _relate(residuals[0], residuals[1])


def _relate(one: Floats, other: Floats) -> float:
    """Return the correlation of residuals; 0 where one does not vary."""
    size = sqrt(float(one @ one) * float(other @ other))
    return float(one @ other) / size if size else 0.0


def _add_reaches(reaches: Sequence[float], together: float) -> float:
    """Return how far a sum reaches, from how far its two parts do and how they correlate."""
    one, other = reaches
    return sqrt(max(0.0, one**2 + other**2 + 2 * together * one * other))


def _restrict(judged: ClaimArrays, rows: Flags) -> ClaimArrays:
    return replace(
        judged,
        said=judged.said[rows],
        told=judged.told[rows],
        items=judged.items[rows],
        weights=judged.weights[rows],
        confidences=judged.confidences[rows],
        counts=judged.counts[rows],
    )


def _spread_ratings(counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return labels as a table with a column for each: who gave which does not matter here."""
    most = int(counts.sum(axis=1).max())
    table = np.full((len(counts), most), -1, dtype=np.intp)
    for row, given in enumerate(counts):
        labels = np.repeat(np.arange(len(given)), given)
        table[row, : len(labels)] = labels
    return table


def _tabulate_pairs(
    counts: NDArray[np.intp], said: NDArray[np.intp], items: NDArray[np.intp], item_count: int
) -> tuple[Floats, Floats]:
    """Return, by item, pairs of people's labels, and pairs of the instrument's and a person's."""
    size = counts.shape[1]
    raters = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(size)
    among = np.zeros((item_count, size, size))
    np.add.at(among, items, pairs / (raters * (raters - 1))[:, None, None])
    with_people = np.zeros((item_count, size, size))
    np.add.at(with_people, (items, said), counts / raters[:, None])
    return among, with_people


def _measure_gap(people: Figure, instrument: Figure, among: Floats, with_people: Floats) -> Figure:
    """Return people's kappa minus the instrument's.

    The distances from either to the ends of its own interval are added as variances are, with the
    correlation that leaving out one item at a time shows. Intervals of kappa lean towards 0, and
    so does this one: a symmetric one missed a gap at the margin twice as often as it may when few
    claims were labelled twice (benchmarks/trust.py).
    """
    if people.value is None or instrument.value is None:
        return Figure(value=None, why=people.why or instrument.why)
    value = people.value - instrument.value
    if len(among) < 2:
        return Figure(value=value, why="no interval: all claims belong to one item")
    one, other = (find_kappas(tables.sum(axis=0) - tables) for tables in (among, with_people))
    if np.isnan(one + other).any() or people.low is None or instrument.low is None:
        return Figure(value=value, why="no interval: one item holds all that differs")
    # A difference: what moves both the same way cancels out.
    together = -_relate(one - one.mean(), other - other.mean())
    below = people.value - people.low, (instrument.high or 0.0) - instrument.value
    above = (people.high or 0.0) - people.value, instrument.value - instrument.low
    return Figure(
        value=value,
        low=value - _add_reaches(below, together),
        high=value + _add_reaches(above, together),
    )
