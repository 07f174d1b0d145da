"""Runs a metric in the database and counts its items by (numerator, denominator).

The database joins the slice columns that the metric does not return itself (columns of items
and runs, and a project's own attributes), adds up each item's units, and counts items that
agree. What comes back has as many rows as there are different pairs, however many items there
are, and everything downstream is computed from it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from math import isfinite
from typing import Any, Final, NamedTuple

from claimwise.errors import MetricError, StoreError, describe_unknown
from claimwise.metrics.catalogue import Metric
from claimwise.metrics.histogram import Histogram
from claimwise.store import Store, list_views
from claimwise.store.parameters import find_parameters
from claimwise.types.rows import Item, Run

_CONTRACT = ("cluster_id", "numerator", "denominator")
_COUNTS = (*_CONTRACT, "asked", "scored")
_BOOLEANS = ("answerable",)
_LEAVE_OUT_RETIRED = (
    "where m.cluster_id not in "
    "(select x.item_id from retired_answers as x where x.run_id = :run_id)"
)
_ITEMS = "left join eval_items as i on i.item_id = m.cluster_id"

DOCUMENT: Final = "document"
CONVERSATION: Final = "conversation"
NO_CLUSTER: Final = "item"

SliceKey = tuple[str | None, ...]


@dataclass(slots=True)
class SliceCounts:
    """The items of one slice, counted."""

    pairs: list[tuple[float, float, int]] = field(default_factory=list)
    asked: int = 0
    scored: int = 0
    says_asked: bool = True  # whether the metric returns ``asked`` at all

    def histogram(self) -> Histogram:
        """Return the items that have a denominator."""
        return Histogram.from_pairs(self.pairs)


class Narrowing(NamedTuple):
    """Which labels may decide: a condition for every table of labels, and its parameters."""

    conditions: Mapping[str, str]
    params: Mapping[str, str]


class ItemCounts(NamedTuple):
    """One item of one slice: what it adds to the rate."""

    item_id: str
    key: SliceKey
    numerator: float
    denominator: float
    asked: int
    scored: int


def count_items(
    store: Store,
    metric: Metric,
    run_id: str,
    by: Sequence[str],
    labels: str | Narrowing,
    cluster: str | None = None,
) -> dict[SliceKey, SliceCounts]:
    """Return the counted items of every slice; the key holds the values of ``by`` in order.

    Items of one conversation, document or whatever ``cluster`` names (`write_cluster`) are not
    independent: they count as one.

    Raises:
        MetricError: a slice column is unknown, or the metric breaks the contract.
    """
    above = cluster or CONVERSATION if has_clusters(store, run_id, cluster) else None
    columns, rows = _query(store, metric, run_id, by, labels, _count_pairs, above=above)
    counts: dict[SliceKey, SliceCounts] = {}
    width = len(by)
    for row in rows:
        numerator, denominator, clusters, asked, scored = row[width:]
        _check_counts(metric, numerator, denominator, clusters, asked, scored)
        key = tuple(row[:width])
        found = counts.setdefault(key, SliceCounts(says_asked="asked" in columns))
        found.pairs.append((float(numerator), float(denominator), int(clusters)))
        found.asked += round(asked)
        found.scored += round(scored)
    return counts


def list_items(
    store: Store, metric: Metric, run_id: str, by: Sequence[str], labels: str | Narrowing
) -> list[ItemCounts]:
    """Return every item of every slice by itself, for what needs to know which item it is.

    An item lies in several slices where a metric has a series or slice columns of its own.

    Raises:
        MetricError: as `count_items`.
    """
    _, rows = _query(store, metric, run_id, by, labels, _list_all)
    width = len(by)
    found = []
    for row in rows:
        item_id, numerator, denominator, asked, scored = row[width:]
        _check_counts(metric, numerator, denominator, 1, asked, scored)
        found.append(
            ItemCounts(
                item_id,
                tuple(row[:width]),
                float(numerator),
                float(denominator),
                round(asked),
                round(scored),
            )
        )
    return found


def _query(
    store: Store,
    metric: Metric,
    run_id: str,
    by: Sequence[str],
    labels: str | Narrowing,
    finish: Callable[[str, str], str],
    *,
    above: str | None = None,
) -> tuple[list[str], list[tuple[Any, ...]]]:
    """Add up a metric by slice and item (or the cluster above); return columns, finished rows."""
    prefix, label_params = narrow_labels(labels)
    params = {"run_id": run_id, **label_params}
    columns = _describe(store, metric, params)
    slices = ", ".join(f"slice_{n}" for n in range(len(by)))
    sql = finish(
        _add_up_items(store, metric, columns, by, above=above), f"{slices}, " if slices else ""
    )
    try:
        return columns, store.query(prefix + sql, params)
    except StoreError as error:
        raise MetricError(f"{metric.path}: {error}") from error


def _count_pairs(items: str, slices: str) -> str:
    outer = f"{slices}numerator, denominator"
    return (
        f"select {outer}, count(*), sum(asked), sum(scored) from (\n{items}\n) as items "
        f"group by {outer} order by {outer}"
    )


def _list_all(items: str, slices: str) -> str:
    return (
        f"select {slices}cluster_id, numerator, denominator, asked, scored from (\n{items}\n) "
        f"as items order by {slices}cluster_id"
    )


def _check_counts(
    metric: Metric, numerator: Any, denominator: Any, clusters: int, asked: Any, scored: Any
) -> None:
    """Refuse what no rate can be made of. The last two are sums over ``clusters`` items."""
    counts = (numerator, denominator, asked, scored)
    if any(not isinstance(count, int | float) or not isfinite(count) for count in counts):
        raise MetricError(f"{metric.path}: found {counts}, expected four numbers for every item")
    if not 0 <= numerator <= denominator:
        raise MetricError(
            f"{metric.path}: found an item with numerator {numerator} and denominator "
            f"{denominator}, expected 0 <= numerator <= denominator"
        )
    if not denominator * clusters <= scored <= asked:
        raise MetricError(
            f"{metric.path}: found denominator {denominator * clusters}, scored {scored} and "
            f"asked {asked}, expected denominator <= scored <= asked"
        )


def _describe(store: Store, metric: Metric, params: dict[str, str]) -> list[str]:
    unknown = [name for name in find_parameters(metric.sql) if name != "run_id"]
    if unknown:
        raise MetricError(f"{metric.path}: found :{unknown[0]}, expected no parameter but :run_id")
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


def _add_up_items(
    store: Store, metric: Metric, columns: list[str], by: Sequence[str], *, above: str | None
) -> str:
    """Return the query that adds up each item's units within each slice.

    ``above`` names the clusters whose items are added up instead. What a metric of ours has added
    up per item is taken as it is.
    """
    joins: list[str] = []
    own = columns if metric.per_item else []
    slices = [
        f"{write_slice(store, name, columns, joins, own=own)} as slice_{n}"
        for n, name in enumerate(by)
    ]
    cluster = "m.cluster_id"
    if above:
        cluster = f"coalesce({write_cluster(store, above, joins)}, m.cluster_id) as cluster_id"
    scored = "m.scored" if "scored" in columns else "m.denominator"
    asked = "m.asked" if "asked" in columns else scored
    counts = {
        "numerator": "m.numerator", "denominator": "m.denominator", "asked": asked, "scored": scored
    }  # fmt: skip
    rest = f"\nfrom (\n{metric.sql}\n) as m {' '.join(joins)}\n{_LEAVE_OUT_RETIRED}"
    if metric.per_item and not above:
        shown = [f"{count} as {name}" for name, count in counts.items()]
        return f"select {', '.join([*slices, cluster, *shown])}{rest}"
    sums = [f"sum({count}) as {name}" for name, count in counts.items()]
    groups = ", ".join(str(n + 1) for n in range(len(by) + 1))
    return f"select {', '.join([*slices, cluster, *sums])}{rest}\ngroup by {groups}"


def write_counted(metric: Metric) -> str:
    """Return a metric's own SQL without retired items: the rows that every figure counts.

    The comments at its head stay there.
    """
    lines = metric.sql.splitlines()
    head = list(takewhile(lambda line: line.startswith("--"), lines))
    inner = "\n".join(lines[len(head) :])
    return "\n".join([*head, "select m.*", "from (", inner, ") as m", _LEAVE_OUT_RETIRED])


def write_slice(
    store: Store, name: str, columns: list[str], joins: list[str], own: Sequence[str] = ()
) -> str:
    """Return SQL for a slice column as text, adding the join that it needs to ``joins``.

    The rows are ``m``; they have an item in ``cluster_id``, and the columns named. Of these,
    ``own`` are known to be the item's.

    Raises:
        MetricError: there is no such column; the message lists those that are.
    """
    # Columns of items and runs win over a metric's own of the same name: they alone have one
    # value per item, on which the way of adding up slices rests.
    if name in Item.__struct_fields__:
        alias = "m" if name in own else "i"
        if alias == "i":
            _join(joins, _ITEMS)
    elif name in Run.__struct_fields__:
        alias = "r"
        _join(joins, "left join runs as r on r.run_id = :run_id")
    elif name in columns and name not in _COUNTS:
        alias = "m"
    elif name in list_attributes(store):
        alias = f"a_{name}"
        _join(
            joins,
            f"left join item_attributes as {alias} "
            f"on {alias}.item_id = m.cluster_id and {alias}.name = '{name}'",
        )
        return f"{alias}.value"
    else:
        raise MetricError(describe_unknown("column", name, list_slices(store, columns)))
    column = f"{alias}.{name}"
    if name in _BOOLEANS:
        return f"case when {column} then 'true' when not {column} then 'false' end"
    return f"cast({column} as text)"


def _join(joins: list[str], join: str) -> None:
    if join not in joins:
        joins.append(join)


def write_cluster(store: Store, name: str, joins: list[str]) -> str:
    """Return SQL for what an item belongs to, adding the joins that it needs to ``joins``.

    A document is the first, by name, of those that hold the item's gold spans; without any, of
    those that its answer was given. Where an item has no such thing the value is null: it then
    stands for itself.

    Raises:
        MetricError: there is no such column of items.
    """
    if name == CONVERSATION:
        _join(joins, _ITEMS)
        return "i.cluster_id"
    if name == DOCUMENT:
        for alias, table in (("gd", "gold_spans"), ("cd", "contexts where run_id = :run_id")):
            _join(
                joins,
                f"left join (select item_id, min(source_id) as source_id from {table} "
                f"group by item_id) as {alias} on {alias}.item_id = m.cluster_id",
            )
        return "coalesce(gd.source_id, cd.source_id)"
    known = [*Item.__struct_fields__, *list_attributes(store)]
    if name not in known:
        raise MetricError(
            describe_unknown("cluster", name, [DOCUMENT, CONVERSATION, NO_CLUSTER, *known])
        )
    return write_slice(store, name, [], joins)


def has_clusters(store: Store, run_id: str, cluster: str | None = None) -> bool:
    """Tell whether items of a run belong to something above them, named or found by itself."""
    if cluster is not None:
        return cluster != NO_CLUSTER
    sql = (
        "select 1 from eval_items as e where e.cluster_id is not null and exists (select 1 "
        "from answers as a where a.run_id = :run_id and a.item_id = e.item_id) limit 1"
    )
    return bool(store.query(sql, {"run_id": run_id}))


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

    Right only where no item (or cluster above) lies in two of those slices: where the columns that
    are given up have one value per item, and no items belong together.
    """
    merged: dict[SliceKey, SliceCounts] = {}
    for key, found in counts.items():
        whole = merged.setdefault(tuple(key[place] for place in places), SliceCounts())
        whole.says_asked = found.says_asked
        whole.pairs += found.pairs
        whole.asked += found.asked
        whole.scored += found.scored
    return merged


def list_slices(store: Store, columns: Sequence[str] = ()) -> list[str]:
    """Return everything that a metric with these columns can be sliced by."""
    own = [column for column in columns if column not in _COUNTS]
    return sorted({*own, *list_item_columns(store)})


_ALL = "1 = 1"
_POLICIES = {
    "default": _ALL,
    "human": "label_kind in ('adjudicated', 'human')",
    "verifier": "label_kind = 'verifier'",
}
_CANDIDATES = {
    "candidate_labels": "labels",
    "candidate_closed_book_labels": "closed_book_labels",
    "candidate_answer_labels": "answer_labels",
}
# Where those of a table are that nobody has taken back; answers' labels can't be.
STANDING = {
    "labels": "standing_labels",
    "closed_book_labels": "standing_closed_book_labels",
    "answer_labels": "answer_labels",
}


def narrow_labels(labels: str | Narrowing) -> tuple[str, dict[str, str]]:
    """Return a WITH clause that narrows the labels that may decide, and its parameters.

    It puts narrower sets under the names of the views, and ends where a select may follow. They are
    never made as a whole ("not materialized"): a query about one run reads the labels of that run.

    Raises:
        MetricError: the policy is unknown.
    """
    if labels == "default":
        return "", {}
    chosen = labels if isinstance(labels, Narrowing) else _read_policy(labels)
    views = ", ".join(
        f"{view} as not materialized (\n{_narrowed(view, sql, chosen)}\n)"
        for view, sql in list_views(kept=False)
        if view not in STANDING.values()  # whoever decides, what was taken back does not
    )
    return f"with {views}\n", dict(chosen.params)


def _read_policy(labels: str) -> Narrowing:
    condition, params = _write_condition(labels, "labeler")
    return Narrowing(dict.fromkeys(_CANDIDATES.values(), condition), params)


def combine_policies(policies: Mapping[str, str]) -> str | Narrowing:
    """Return one narrowing of labels from a policy for each table; "default" where all are.

    Raises:
        MetricError: a policy is unknown.
    """
    conditions, params = {}, {}
    for table in _CANDIDATES.values():
        conditions[table], named = _write_condition(
            policies.get(table, "default"), f"labeler_of_{table}"
        )
        params.update(named)
    if all(condition == _ALL for condition in conditions.values()):
        return "default"
    return Narrowing(conditions, params)


def _write_condition(labels: str, parameter: str) -> tuple[str, dict[str, str]]:
    kind, _, name = labels.partition(":")
    if kind == "labeler" and name:
        return f"labeler = :{parameter}", {parameter: name}
    if labels not in _POLICIES:
        raise MetricError(
            f"Unknown labels {labels!r}. Choose default, human, verifier or labeler:NAME."
        )
    return _POLICIES[labels], {}


def _narrowed(name: str, sql: str, chosen: Narrowing) -> str:
    table = _CANDIDATES.get(name)
    if table is None:
        return sql
    return f"select * from {STANDING[table]} as {table} where {chosen.conditions[table]}"
