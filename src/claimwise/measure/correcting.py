"""Corrects a run's rate by the labels of a round that was drawn from it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from msgspec.structs import replace

from claimwise.measure.calibration import SUPPORTED
from claimwise.measure.histogram import Histogram
from claimwise.measure.intervals import wilson_interval
from claimwise.measure.stratified import StratumLabel, estimate_stratified
from claimwise.store import Store
from claimwise.store.calibrations import (
    DrawnLabel,
    DrawnRound,
    count_verdicts_by_item,
    list_rounds_of,
    read_round_labels,
)
from claimwise.types.agreeing import Figure
from claimwise.types.calibrating import CorrectedRate
from claimwise.types.rows import Judgement

BEFORE: Final = "labelled before the round"


class _Begun(NamedTuple):
    """A round as far as people have labelled it."""

    drawn: DrawnRound
    tasks: Sequence[DrawnLabel]

    @property
    def labelled(self) -> Counter[str]:
        """The claims of every stratum that have a label."""
        return Counter(one.stratum for one in self.tasks if one.stratum and one.told is not None)

    @property
    def asked(self) -> Counter[str]:
        """The claims of every stratum that were drawn."""
        return Counter(one.stratum for one in self.tasks if one.stratum)

    def is_far(self) -> bool:
        """Tell whether half of the claims that were drawn, of every stratum, have a label."""
        labelled = self.labelled
        return all(2 * labelled[name] >= count for name, count in self.asked.items())


def correct_run(
    store: Store, run_id: str, judgement: Judgement = "grounded", *, confidence: float = 0.95
) -> CorrectedRate | None:
    """Correct a run's rate by one of its rounds; None when none has labels.

    It is the latest round in which at least half of the drawn claims of every stratum are
    labelled; if there is none, the one with most labels. What the labels say plays no part in
    that, so that the interval of the chosen one holds. Newer ones that are passed over are named.
    """
    begun: list[_Begun] = []
    for drawn in list_rounds_of(store, run_id, judgement):  # the latest first
        begun.append(_Begun(drawn, read_round_labels(store, drawn, judgement)))
        if begun[-1].is_far():
            break
    if not begun:
        return None
    most = max(begun, key=lambda one: one.labelled.total())
    chosen = begun[-1] if begun[-1].is_far() else most
    found = _correct(store, chosen, judgement, confidence)
    newer = begun[: begun.index(chosen)]
    told = tuple(_describe_newer(one) for one in newer if one.labelled)
    return found and replace(found, notes=(*found.notes, *told))


def _correct(
    store: Store, begun: _Begun, judgement: Judgement, confidence: float
) -> CorrectedRate | None:
    drawn, tasks = begun
    run_id = drawn.run_id
    approved = SUPPORTED[judgement]
    verdicts = count_verdicts_by_item(store, run_id, drawn.labeler or "", judgement)
    earlier = [task for task in tasks if task.stratum is None]
    # A round that draws claims with labels anew holds the earlier ones in its strata already.
    if len(earlier) > _count_claims(verdicts) - sum(drawn.strata.values()):
        tasks, earlier = [task for task in tasks if task.stratum is not None], []
    sizes = {**drawn.strata, BEFORE: len(earlier)}
    labels = [_to_label(task, approved) for task in tasks if task.told is not None]
    if all(label.stratum == BEFORE for label in labels):
        return None
    found = estimate_stratified(sizes, labels, verdicts, confidence=confidence)
    if found is None:
        return None
    missing = sum(task.told is None for task in tasks)
    return CorrectedRate(
        run_id=run_id,
        round_id=drawn.round_id,
        labeler=drawn.labeler,
        judgement=judgement,
        value=found.value,
        low=found.low,
        high=found.high,
        confidence=confidence,
        labels=len(labels),
        claims=sum(sizes.values()),
        instrument=_measure_alone(verdicts, approved, confidence),
        labels_only=_measure_labels(labels, confidence),
        missing=missing,
        notes=tuple(_take_notes(verdicts, sum(sizes.values()), missing, found.empty)),
    )


def _to_label(task: DrawnLabel, approved: str) -> StratumLabel:
    return StratumLabel(
        stratum=task.stratum or BEFORE,
        item_id=task.item_id,
        supported=task.told == approved,
        group=task.said,
    )


def _measure_alone(
    verdicts: Mapping[str, Mapping[str | None, int]], approved: str, confidence: float
) -> Figure:
    pairs = []
    for given in verdicts.values():
        scored = sum(count for verdict, count in given.items() if verdict is not None)
        pairs.append((given.get(approved, 0), scored, 1))
    return _measure(Histogram.from_pairs(pairs), confidence, "no instrument made the strata")


def _measure_labels(labels: Sequence[StratumLabel], confidence: float) -> Figure:
    items: dict[str, list[int]] = {}
    for label in labels:
        pair = items.setdefault(label.item_id, [0, 0])
        pair[0] += label.supported
        pair[1] += 1
    return _measure(Histogram.from_pairs((y, m, 1) for y, m in items.values()), confidence, "")


def _count_claims(verdicts: Mapping[str, Mapping[str | None, int]]) -> int:
    return sum(sum(given.values()) for given in verdicts.values())


def _measure(counted: Histogram, confidence: float, why: str) -> Figure:
    interval = wilson_interval(counted, confidence)
    if interval is None:
        return Figure(value=None, why=why)
    return Figure(value=counted.hits / counted.units, low=interval.low, high=interval.high)


def _describe_newer(one: _Begun) -> str:
    return (
        f"the newer round {one.drawn.round_id} has labels on {one.labelled.total():,} of its "
        f"{one.asked.total():,} claims: it counts once half of every stratum has one"
    )


def _take_notes(
    verdicts: Mapping[str, Mapping[str | None, int]],
    drawn_from: int,
    missing: int,
    empty: Sequence[str],
) -> list[str]:
    notes = []
    if missing:
        notes.append(
            f"{missing:,} claims of the round have no label: they are taken to be like the "
            "labelled ones of their stratum"
        )
    if empty:
        notes.append(f"nobody has labelled a claim of {', '.join(empty)}: it could hold anything")
    asked = _count_claims(verdicts)
    if asked != drawn_from:
        notes.append(
            f"the run has {asked:,} claims and the round was drawn from {drawn_from:,}: the rate "
            "is that of the latter"
        )
    return notes
