"""Who judged a run, and what two runs' instruments say of the same claims.

An instrument is a verifier or judge by its name (which carries model and prompt version), or
people: all of them together, as long as they worked by the same guide.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from claimwise.metrics.catalogue import Metric
from claimwise.metrics.counting import STANDING, ItemCounts, Narrowing, list_items, narrow_labels
from claimwise.store import Store

PEOPLE: Final = "people"
LEAST_SHARE: Final = 0.02
"""Labels that changed hands, as a share, from which on the instrument counts as changed."""
# view with the deciding labels -> the table behind it, and what names one judged thing
_TABLES: Final = {
    "deciding_labels": ("labels", ("run_id", "item_id", "claim_id")),
    "deciding_closed_book_labels": ("closed_book_labels", ("run_id", "item_id", "claim_id")),
    "deciding_answer_labels": ("answer_labels", ("run_id", "item_id", "sample")),
}
_GUIDED: Final = "deciding_labels"  # only these say by which guide people worked


class LabelGiver(NamedTuple):
    """Who gives labels: ``labeler`` is None for people, ``guide`` for whoever has none."""

    labeler: str | None
    guide: str | None = None

    def __str__(self) -> str:
        if self.labeler is not None:
            return self.labeler
        return PEOPLE if self.guide is None else f"{PEOPLE} by guide {self.guide}"


Judged = dict[LabelGiver, int]


@dataclass(frozen=True, kw_only=True, slots=True)
class JudgesChange:
    """Who judged two runs: labels that decide, by instrument.

    What counts is which share of the labels went from whom to whom. A tenth of that share is the
    least that makes an instrument one of those who lost or gained: below it, it is noise beside
    the others.
    """

    base: Judged
    new: Judged

    @property
    def share(self) -> float:
        """The share of labels that other instruments gave in the new run."""
        return sum(gain for gain in self._gains().values() if gain > 0)

    @property
    def changed(self) -> bool:
        """Whether that share is large enough to move a rate."""
        return self.share > LEAST_SHARE

    @property
    def differ(self) -> bool:
        """Whether somebody decides in one of the runs who does not in the other."""
        return bool(self.base and self.new) and set(self.base) != set(self.new)

    @property
    def old_side(self) -> list[LabelGiver]:
        """Whose labels stand for the old way of judging: those who decide less than before."""
        return [one for one, gain in self._gains().items() if -gain > self.share / 10]

    @property
    def new_side(self) -> list[LabelGiver]:
        """Whose labels stand for the new way of judging: those who decide more than before."""
        return [one for one, gain in self._gains().items() if gain > self.share / 10]

    def describe(self) -> str:
        """Say which share of the labels went from whom to whom."""
        old, new = (", ".join(map(str, side)) for side in (self.old_side, self.new_side))
        return f"{self.share * 100:.3g}% of the labels, from {old} to {new}"

    def _gains(self) -> dict[LabelGiver, float]:
        """Return how much larger each instrument's share is in the new run."""
        base, new = sum(self.base.values()), sum(self.new.values())
        if not base or not new:
            return {}
        everybody = dict.fromkeys([*self.base, *self.new])
        return {one: self.new.get(one, 0) / new - self.base.get(one, 0) / base for one in everybody}


def find_label_views(metric: Metric) -> list[str]:
    """Return the views of deciding labels that a metric reads; empty when it needs no labels."""
    named = {view.replace("candidate_", "deciding_") for view in metric.labels}
    return [view for view in _TABLES if view in named]


def find_run_judges(
    store: Store,
    metric: Metric,
    run_ids: Sequence[str],
    labels: Sequence[str | Narrowing],
) -> JudgesChange:
    """Return whose labels decide a metric in two runs, each under its own policy of labels."""
    views = find_label_views(metric)
    found = [
        count_label_givers(store, views, run_id, policy)
        for run_id, policy in zip(run_ids, labels, strict=True)
    ]
    guides = [{one.guide for one in judged if one.labeler is None} for judged in found]
    if None in guides[0] | guides[1] or not all(guides):
        # Where one of the guides is not known, there is nothing to tell them apart by.
        found = [_forget_guides(judged) for judged in found]
    return JudgesChange(base=found[0], new=found[1])


def count_label_givers(
    store: Store, views: Sequence[str], run_id: str, labels: str | Narrowing
) -> Judged:
    """Return how many labels of some views each one gave who decides, under a policy of labels."""
    prefix, params = narrow_labels(labels)
    found: Judged = {}
    for view in views:
        guide = "guide_version" if view == _GUIDED else "cast(null as text)"
        rows = store.query(
            f"{prefix}select case when label_kind = 'verifier' then labeler end as judge, "
            f"case when label_kind = 'verifier' then null else {guide} end as guide, count(*) "
            f"from {view} where run_id = :run_id group by 1, 2 order by 1, 2",
            {"run_id": run_id, **params},
        )
        for labeler, version, count in rows:
            one = LabelGiver(labeler, version)
            found[one] = found.get(one, 0) + count
    return found


def _forget_guides(judged: Judged) -> Judged:
    found: Judged = {}
    for one, count in judged.items():
        key = LabelGiver(one.labeler)
        found[key] = found.get(key, 0) + count
    return found


class JudgeChange(NamedTuple):
    """What the old and the new instruments say of the claims that both judged, item by item."""

    old: list[ItemCounts]
    new: list[ItemCounts]


def read_overlap(
    store: Store,
    metric: Metric,
    run_ids: Sequence[str],
    change: JudgesChange,
    by: Sequence[str] = (),
) -> JudgeChange:
    """Measure a metric by the old and by the new instruments, on what both judged.

    Each reading is the metric itself, over the labels of one side alone; a claim counts when the
    other side labelled it too.
    """
    sides = (change.old_side, change.new_side)
    views = find_label_views(metric)
    readings: list[list[ItemCounts]] = []
    for own, other in (sides, sides[::-1]):
        narrowed = _narrow(views, own, other)
        found: list[ItemCounts] = []
        for run_id in run_ids:
            found += list_items(store, metric, run_id, by, narrowed)
        readings.append(found)
    return JudgeChange(*readings)


def _narrow(
    views: Sequence[str], own: Sequence[LabelGiver], other: Sequence[LabelGiver]
) -> Narrowing:
    params: dict[str, str] = {}
    conditions = {}
    for view, (table, key) in _TABLES.items():
        if view not in views:
            conditions[table] = "1 = 1"
            continue
        same = " and ".join(f"o.{column} = {table}.{column}" for column in key)
        guided = view == _GUIDED
        by_own = _name(table, own, "own", params, guided=guided)
        by_other = _name("o", other, "other", params, guided=guided)
        conditions[table] = (
            f"({by_own}) and exists (select 1 from {STANDING[table]} as o "
            f"where {same} and ({by_other}))"
        )
    return Narrowing(conditions, params)


def _name(
    alias: str, chosen: Sequence[LabelGiver], side: str, params: dict[str, str], *, guided: bool
) -> str:
    """Return the condition that a label is one of some instruments'."""
    found = []
    for number, one in enumerate(chosen):
        if one.labeler is not None:
            params[f"{side}_{number}"] = one.labeler
            found.append(f"{alias}.labeler = :{side}_{number}")
            continue
        people = f"{alias}.label_kind in ('adjudicated', 'human')"
        if one.guide is not None and guided:
            params[f"{side}_{number}"] = one.guide
            people += f" and {alias}.guide_version = :{side}_{number}"
        found.append(people)
    return " or ".join(f"({condition})" for condition in found)
