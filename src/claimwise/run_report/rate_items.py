"""The items behind a rate: what each adds to it, the faults first.

Faithfulness leads to claims. Context recall, refusals or faithful × correct count answers, gold
spans or actions, and no list of claims explains them. Their items are counted by the same query and
the same labels as the rate itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, NamedTuple

from claimwise.calibration.basis import find_basis
from claimwise.metrics import Metric
from claimwise.metrics.counting import ItemCounts, list_items
from claimwise.store import Store
from claimwise.store.files import SqlFolder
from claimwise.types.results import Settings

ItemKind = Literal["faults", "others", "unscored"]
SortedItems = Mapping[ItemKind, Sequence[ItemCounts]]

_SQL: Final = SqlFolder("claimwise.run_report")


class RateChoice(NamedTuple):
    """A rate of a run, or of a group in it."""

    run_id: str
    metric: Metric
    part: str | None = None  # of a metric with several rates
    groups: tuple[tuple[str, str | None], ...] = ()  # columns with their values


class ItemAnswer(NamedTuple):
    """An item with what it adds to a rate, its question, and its first answer in the run."""

    item: ItemCounts
    question: str
    answer: str | None
    sample: int


def find_items(
    store: Store, metrics: dict[str, Metric], choice: RateChoice, settings: Settings
) -> SortedItems:
    """Return the items that a rate adds up, the gravest faults first.

    All of them are counted: a rate is one query, however many items it has.

    Raises:
        MetricError: the run or a column is unknown.
    """
    series = choice.metric.series
    by = [*([series] if series else []), *(name for name, _ in choice.groups)]
    key = (*([choice.part] if series else []), *(value for _, value in choice.groups))
    with store.snapshot():
        labels = find_basis(store, metrics, choice.run_id, settings).labels_for(choice.metric)
        found = list_items(store, choice.metric, choice.run_id, by, labels)
    return _sort([one for one in found if one.key == key], choice.metric)


def _sort(items: Sequence[ItemCounts], metric: Metric) -> SortedItems:
    """Divide items into those that speak against the run, the others, and the unscored."""
    higher = wants_all(metric)
    kinds: dict[ItemKind, list[ItemCounts]] = {"faults": [], "others": [], "unscored": []}
    for one in items:
        if not one.denominator:
            kinds["unscored"].append(one)
        elif one.numerator < one.denominator if higher else one.numerator > 0:
            kinds["faults"].append(one)
        else:
            kinds["others"].append(one)
    sign = 1 if higher else -1
    kinds["faults"].sort(key=lambda one: (sign * one.numerator / one.denominator, one.item_id))
    return kinds


def wants_all(metric: Metric) -> bool:
    """Return whether an item is right by a metric if it reaches all that is counted of it.

    Where fewer are better, an item is right if it adds nothing. Of a metric with several rates,
    each is about the items that it counts.
    """
    return not metric.series and metric.better_for(None) == "higher"


def add_up(items: SortedItems) -> tuple[float, float]:
    """Return the numerator and the denominator of the rate, if all items count alike."""
    scored = (*items["faults"], *items["others"])
    return sum(one.numerator for one in scored), sum(one.denominator for one in scored)


def read_answers(store: Store, run_id: str, items: Sequence[ItemCounts]) -> list[ItemAnswer]:
    """Return some items with their questions and answers."""
    if not items:
        return []
    params = {f"item_{number}": one.item_id for number, one in enumerate(items)}
    sql = _SQL["item_answers"].format(items=", ".join(f":{name}" for name in params))
    told = {row[0]: row[1:] for row in store.query(sql, {**params, "run_id": run_id})}
    return [ItemAnswer(one, *told.get(one.item_id, ("", None, 0))) for one in items]
