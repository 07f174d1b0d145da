"""Runs a metric in the database and counts its items by (numerator, denominator).

The database joins the slice columns that the metric does not return itself (columns of items
and runs, and a project's own attributes), adds up each item's units, and counts items that
agree. What comes back has as many rows as there are different pairs, however many items there
are, and everything downstream is computed from it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from claimwise.errors import MetricError, StoreError
from claimwise.measure.catalogue import Metric
from claimwise.measure.histogram import Histogram
from claimwise.store import Store, list_views
from claimwise.types.rows import Item, Run

_CONTRACT = ("cluster_id", "numerator", "denominator")
_COUNTS = (*_CONTRACT, "asked", "scored")
_BOOLEANS = ("answerable",)

SliceKey = tuple[str | None, ...]


@dataclass(slots=True)
class SliceCounts:
    """The items of one slice, counted."""

    pairs: list[tuple[float, float, int]] = field(default_factory=list)
    asked: int = 0
    scored: int = 0

    def histogram(self) -> Histogram:
        """Return the items that have a denominator."""
        return Histogram.from_pairs(self.pairs)


def count_items(
    store: Store, metric: Metric, run_id: str, by: Sequence[str], labels: str
) -> dict[SliceKey, SliceCounts]:
    """Return the counted items of every slice; the key holds the values of ``by`` in order.

    Raises:
        MetricError: a slice column is unknown, or the metric breaks the contract.
    """
    params = {"run_id": run_id, **_label_params(labels)}
    columns = _describe(store, metric, params)
    sql = _label_prefix(labels) + _wrap(store, metric, columns, by)
    counts: dict[SliceKey, SliceCounts] = {}
    try:
        rows = store.query(sql, params)
    except StoreError as error:
        raise MetricError(f"{metric.path}: {error}") from error
    width = len(by)
    for row in rows:
        numerator, denominator, clusters, asked, scored = row[width:]
        _check_pair(metric, numerator, denominator)
        found = counts.setdefault(tuple(row[:width]), SliceCounts())
        found.pairs.append((float(numerator), float(denominator), int(clusters)))
        found.asked += int(asked)
        found.scored += int(scored)
    return counts


def _check_pair(metric: Metric, numerator: float | None, denominator: float | None) -> None:
    if numerator is None or denominator is None or not 0 <= numerator <= denominator:
        raise MetricError(
            f"{metric.path}: found an item with numerator {numerator} and denominator "
            f"{denominator}, expected 0 <= numerator <= denominator"
        )


def _describe(store: Store, metric: Metric, params: dict[str, str]) -> list[str]:
    try:
        columns = store.describe(metric.sql, params)
    except StoreError as error:
        raise MetricError(f"{metric.path}: {error}") from error
    missing = [column for column in _CONTRACT if column not in columns]
    if metric.series and metric.series not in columns:
        missing.append(metric.series)
    if missing:
        raise MetricError(
            f"{metric.path}: returns {', '.join(columns)}; expected a column {missing[0]} too"
        )
    return columns


def _wrap(store: Store, metric: Metric, columns: list[str], by: Sequence[str]) -> str:
    """Return the counting query around a metric."""
    joins: list[str] = []
    slices = [
        f"{_slice_expression(store, name, columns, joins)} as slice_{n}"
        for n, name in enumerate(by)
    ]
    asked = "m.asked" if "asked" in columns else "m.denominator"
    scored = "m.scored" if "scored" in columns else "m.denominator"
    inner = ", ".join(
        [
            *slices,
            "m.cluster_id",
            "sum(m.numerator) as numerator",
            "sum(m.denominator) as denominator",
            f"sum({asked}) as asked",
            f"sum({scored}) as scored",
        ]
    )
    groups = ", ".join(str(n + 1) for n in range(len(by) + 1))
    outer = ", ".join([*(f"slice_{n}" for n in range(len(by))), "numerator", "denominator"])
    return (
        f"select {outer}, count(*), sum(asked), sum(scored) from (\n"
        f"select {inner}\nfrom (\n{metric.sql}\n) as m {' '.join(joins)}\ngroup by {groups}\n"
        f") as items group by {outer} order by {outer}"
    )


def _slice_expression(store: Store, name: str, columns: list[str], joins: list[str]) -> str:
    """Return SQL for a slice column as text, adding the join that it needs."""
    if name in columns and name not in _COUNTS:
        alias = "m"
    elif name in Item.__struct_fields__:
        alias = "i"
        _join(joins, "left join eval_items as i on i.item_id = m.cluster_id")
    elif name in Run.__struct_fields__:
        alias = "r"
        _join(joins, "left join runs as r on r.run_id = :run_id")
    elif name in list_attributes(store):
        alias = f"a_{name}"
        _join(
            joins,
            f"left join item_attributes as {alias} "
            f"on {alias}.item_id = m.cluster_id and {alias}.name = '{name}'",
        )
        return f"{alias}.value"
    else:
        raise MetricError(
            f"found the slice {name!r}, expected one of {', '.join(list_slices(store, columns))}"
        )
    column = f"{alias}.{name}"
    if name in _BOOLEANS:
        return f"case when {column} then 'true' else 'false' end"
    return f"cast({column} as text)"


def _join(joins: list[str], join: str) -> None:
    if join not in joins:
        joins.append(join)


def list_attributes(store: Store) -> list[str]:
    """Return the names of the attributes that items of this store have."""
    return [
        row[0] for row in store.query("select distinct name from item_attributes order by name")
    ]


def list_item_columns(store: Store) -> list[str]:
    """Return the columns that have one value per item within a run."""
    return [*Item.__struct_fields__, *Run.__struct_fields__, *list_attributes(store)]


def merge_counts(
    counts: dict[SliceKey, SliceCounts], places: Sequence[int]
) -> dict[SliceKey, SliceCounts]:
    """Add up slices that agree in the values at ``places``, which become the new keys.

    Right only where no item lies in two of those slices: where the columns that are given up
    have one value per item.
    """
    merged: dict[SliceKey, SliceCounts] = {}
    for key, found in counts.items():
        whole = merged.setdefault(tuple(key[place] for place in places), SliceCounts())
        whole.pairs += found.pairs
        whole.asked += found.asked
        whole.scored += found.scored
    return merged


def list_slices(store: Store, columns: Sequence[str] = ()) -> list[str]:
    """Return everything that a metric with these columns can be sliced by."""
    own = [column for column in columns if column not in _COUNTS]
    return sorted({*own, *list_item_columns(store)})


_POLICIES = {
    "human": "label_kind in ('adjudicated', 'human')",
    "verifier": "label_kind = 'verifier'",
}
_CANDIDATES = {
    "candidate_labels": "claim_labels",
    "candidate_closed_book_labels": "closed_book_labels",
    "candidate_answer_labels": "answer_labels",
}


def _label_params(labels: str) -> dict[str, str]:
    kind, _, name = labels.partition(":")
    return {"labeler": name} if kind == "labeler" else {}


def _label_prefix(labels: str) -> str:
    """Return a WITH clause that narrows the labels that may decide, shadowing the views."""
    if labels == "default":
        return ""
    condition = _POLICIES.get(labels)
    if labels.startswith("labeler:") and len(labels) > len("labeler:"):
        condition = "labeler = :labeler"
    if condition is None:
        raise MetricError(
            f"found labels {labels!r}, expected default, human, verifier or labeler:NAME"
        )
    parts = [f"{name} as (\n{_narrowed(name, sql, condition)}\n)" for name, sql in list_views()]
    return f"with {', '.join(parts)}\n"


def _narrowed(name: str, sql: str, condition: str) -> str:
    if name in _CANDIDATES:
        return f"select * from {_CANDIDATES[name]} where {condition}"
    return sql
