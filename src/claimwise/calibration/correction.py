"""Corrects a run's rate by the labels of a round that was drawn from it."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from msgspec.structs import replace

from claimwise.agreement.values import Figure
from claimwise.calibration.measure import SUPPORTED
from claimwise.calibration.queries import (
    DrawnRound,
    RoundSample,
    count_verdicts_by_item,
    list_rounds_of,
    read_sample,
    read_verdict_pairs,
)
from claimwise.calibration.stratified import StratumLabel, estimate_stratified
from claimwise.calibration.values import CorrectedRate
from claimwise.calibration.weights import is_whole
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval
from claimwise.metrics.weights import ItemCounting, read_weights, scale_factors
from claimwise.store import Store
from claimwise.types.results import Weights
from claimwise.types.rows import Judgement

BEFORE: Final = "labelled before the round"


class _Begun(NamedTuple):
    """A round as far as people have labelled it."""

    drawn: DrawnRound
    sample: RoundSample

    @property
    def labels(self) -> int:
        """How many claims were labelled in the round."""
        return len(self.sample.labelled)

    @property
    def tasks(self) -> int:
        """How many claims were drawn."""
        return sum(self.drawn.chosen.values())

    def is_far(self) -> bool:
        """Tell whether half of the claims that were drawn, of every stratum, have a label."""
        labelled = Counter(self.sample.labelled.values())
        return all(2 * labelled[name] >= count for name, count in self.drawn.chosen.items())


def correct_run(
    store: Store,
    run_id: str,
    judgement: Judgement = "grounded",
    *,
    confidence: float = 0.95,
    cluster: str | None = None,
    weights: Weights | None = None,
) -> CorrectedRate | None:
    """Correct a run's rate by one of its rounds; None when none has labels.

    It is the latest round in which at least half of the drawn claims of every stratum are
    labelled; if there is none, the one with most labels, of those that calibrations don't let wait
    where there is one (`is_whole`). What the labels say plays no part in that, so that the interval
    of the chosen one holds. Newer ones that are passed over are named. A round has the labels that
    were given in it; claims that it left out, as they had one, stand for themselves. Items that
    belong together by ``cluster`` (`map_clusters`) count as one in the interval; ``weights`` say
    what items count for (`read_weights`).

    Raises:
        MetricError: the weights don't fit the run's items.
    """
    begun: list[_Begun] = []
    for drawn in list_rounds_of(store, run_id, judgement):  # the latest first
        one = _Begun(drawn, read_sample(store, drawn, judgement))
        if one.labels:
            begun.append(one)
            if one.is_far():
                break
    if not begun:
        return None
    most = max(begun, key=lambda one: (is_whole(one.sample), one.labels))
    chosen = begun[-1] if begun[-1].is_far() else most
    counting = ItemCounting(
        map_clusters(store, run_id, cluster), read_weights(store, run_id, weights)
    )
    found = _correct(store, chosen, judgement, confidence, counting)
    told = tuple(_describe_newer(one) for one in begun[: begun.index(chosen)])
    return found and replace(found, notes=(*found.notes, *told))


Verdicts = Mapping[str, Mapping[str | None, float]]


def _add_up(verdicts: Mapping[str, Mapping[str | None, int]], counting: ItemCounting) -> Verdicts:
    """Weigh what items hold, and add up those of one cluster."""
    units = np.array([sum(given.values()) for given in verdicts.values()], dtype=np.float64)
    factors = np.array([counting.find_factor(item) for item in verdicts], dtype=np.float64)
    if counting.weights is not None:
        factors = scale_factors(factors, units)
    found: dict[str, dict[str | None, float]] = defaultdict(lambda: defaultdict(float))
    for (item, given), factor in zip(verdicts.items(), factors.tolist(), strict=True):
        held = found[counting.clusters.get(item, item)]
        for verdict, count in given.items():
            held[verdict] += factor * count
    return found


def _to_label(
    item: str,
    stratum: str,
    given: tuple[str, str | None],
    approved: str,
    counting: ItemCounting,
) -> StratumLabel:
    told, said = given
    return StratumLabel(
        stratum=stratum,
        item_id=counting.clusters.get(item, item),
        supported=told == approved,
        group=said,
        factor=counting.find_factor(item),
    )


def _correct(
    store: Store, begun: _Begun, judgement: Judgement, confidence: float, counting: ItemCounting
) -> CorrectedRate | None:
    drawn, sample = begun
    approved, weights = SUPPORTED[judgement], counting.weights
    given = count_verdicts_by_item(store, drawn.run_id, drawn.labeler or "", judgement)
    claims = {item: float(sum(held.values())) for item, held in given.items()}
    verdicts = _add_up(given, counting)
    told = read_verdict_pairs(store, drawn.run_id, drawn.labeler or "", judgement)
    sizes = {**sample.strata, BEFORE: len(sample.left_out)}
    strata = {**dict.fromkeys(sample.left_out, BEFORE), **sample.labelled}
    labels = [
        _to_label(key[0], name, told[key], approved, counting)
        for key, name in sorted(strata.items())
    ]
    found = estimate_stratified(sizes, labels, verdicts, confidence=confidence)
    if found is None:
        return None
    missing = begun.tasks - begun.labels
    notes = _take_notes(round(sum(claims.values())), sum(sizes.values()), missing, found.empty)
    if weights is not None:
        notes += weights.describe_missing(key[0] for key in strata)
    return CorrectedRate(
        run_id=drawn.run_id,
        round_id=drawn.round_id,
        labeler=drawn.labeler,
        judgement=judgement,
        value=found.value,
        low=found.low,
        high=found.high,
        confidence=confidence,
        labels=begun.labels,
        claims=sum(sizes.values()),
        instrument=_measure_alone(verdicts, approved, confidence),
        labels_only=_measure_labels(labels, confidence),
        missing=missing,
        earlier=len(sample.left_out),
        range_from=found.range_from,
        other_width=found.other_width,
        notes=tuple(notes),
        weighting=None if weights is None else weights.weigh(claims),
    )


def _measure_alone(verdicts: Verdicts, approved: str, confidence: float) -> Figure:
    pairs = []
    for given in verdicts.values():
        scored = sum(count for verdict, count in given.items() if verdict is not None)
        pairs.append((min(scored, given.get(approved, 0.0)), scored, 1))
    return _measure(Histogram.from_pairs(pairs), confidence, "no judge made the strata")


def _measure_labels(labels: Sequence[StratumLabel], confidence: float) -> Figure:
    items: dict[str, list[int]] = {}
    for label in labels:
        pair = items.setdefault(label.item_id, [0, 0])
        pair[0] += label.supported
        pair[1] += 1
    return _measure(Histogram.from_pairs((y, m, 1) for y, m in items.values()), confidence, "")


def _measure(counted: Histogram, confidence: float, why: str) -> Figure:
    interval = wilson_interval(counted, confidence)
    if interval is None:
        return Figure(value=None, why=why)
    return Figure(value=counted.hits / counted.units, low=interval.low, high=interval.high)


def _describe_newer(one: _Begun) -> str:
    return (
        f"the newer round {one.drawn.round_id} has labels on {one.labels:,} of its "
        f"{one.tasks:,} claims: it counts once half of every stratum has one"
    )


def _take_notes(asked: int, drawn_from: int, missing: int, empty: Sequence[str]) -> list[str]:
    notes = []
    if missing:
        notes.append(
            f"{missing:,} claims of the round have no label in it: they are taken to be like the "
            "labelled ones of their stratum"
        )
    if empty:
        notes.append(f"nobody has labelled a claim of {', '.join(empty)}: it could hold anything")
    if asked != drawn_from:
        notes.append(
            f"the run has {asked:,} claims and the round was drawn from {drawn_from:,}: the rate "
            "is that of the latter"
        )
    return notes
