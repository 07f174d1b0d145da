"""Counts the items of a gate's slices in stored runs; what is not scored is counted beside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files

from claimwise.errors import MetricError, describe_unknown
from claimwise.gates.counts import ItemRow
from claimwise.gates.rules import GateRule
from claimwise.metrics import Metric
from claimwise.metrics.catalogue import parse_metric
from claimwise.metrics.counting import (
    ItemCounts,
    Narrowing,
    SliceKey,
    list_attributes,
    list_items,
)
from claimwise.metrics.proposals import describe_proposals
from claimwise.metrics.weights import read_weights
from claimwise.store import Store
from claimwise.types.rows import Item

Counted = dict[SliceKey, dict[str, ItemRow]]


def has_values(columns: Sequence[str], key: SliceKey, wanted: Mapping[str, str]) -> bool:
    """Return whether a slice has the wanted values, as far as it has those columns."""
    values = dict(zip(columns, key, strict=True))
    return all(values[name] == value for name, value in wanted.items() if name in values)


class RuleCountReader:
    """Reads one rule's counts from a store."""

    def __init__(self, store: Store, rule: GateRule) -> None:
        self.store = store
        self.rule = rule
        of_items = {*Item.__struct_fields__, *list_attributes(store)}
        wanted = dict.fromkeys((*rule.by, *rule.gate.where))
        self.item_columns = tuple(name for name in wanted if name in of_items)
        # Whether an item's slice is known without the metric: own columns of a metric are not.
        self._sliced_by_items = set(wanted) <= of_items
        self.items = {row[0] for row in store.query("select item_id from eval_items")}
        self.asked: dict[str, frozenset[str]] = {}
        # Claims imagined of answers that nobody split, by run and slice, and then by item.
        self.unsplit: dict[tuple[str, SliceKey], dict[str, float]] = defaultdict(dict)
        self.notes: list[str] = []

    def count(self, run_id: str) -> Counted:
        """Return the items of every slice.

        Raises:
            MetricError: nothing is there, or nothing is scored.
        """
        rule, gate = self.rule, self.rule.gate
        counted = self.tabulate(run_id, rule.labels)
        self._add_unsplit(run_id, counted)
        proposed = describe_proposals(self.store, rule.metric, run_id)
        if proposed is not None:
            self.notes.append(f"{run_id}: {proposed}")
        found = [row for items in counted.values() for row in items.values()]
        if not found:
            where = "".join(f" where {name}={value}" for name, value in gate.where.items())
            raise MetricError(
                f"gate {gate.name}: run {run_id!r} has no item for {rule.metric.name}{where}; "
                "check the gate's metric and where"
            )
        if not any(row.units for row in found):
            unscored = round(sum(row.unscored for row in found))
            raise MetricError(
                f"gate {gate.name}: nothing is scored in run {run_id!r} ({unscored:,} unscored, "
                f"labels: {rule.labels}); run `claimwise verify` or import labels"
            )
        return dict(counted)

    def tabulate(self, run_id: str, labels: str | Narrowing) -> Counted:
        """Return the items of every slice by some labels.

        Raises:
            MetricError: the metric counts by something other than items, which has no such column:
                all of it would lie in one slice without a value, and hide the worst.
        """
        rule = self.rule
        rows = list_items(self.store, rule.metric, run_id, rule.columns, labels)
        stray = next((row.item_id for row in rows if row.item_id not in self.items), None)
        if stray is not None and self.item_columns:
            raise MetricError(
                f"gate {rule.gate.name}: {rule.metric.name} counts by something other than items "
                f"(such as {stray!r}), so it has no {self.item_columns[0]}; remove it from by and "
                "where, or return item_id as cluster_id"
            )
        counted: Counted = defaultdict(dict)
        for row in self._choose_member(rows):
            if self.matches(rule.columns, row.key):
                counted[self._slice_of(rule.columns, row.key)][row.item_id] = ItemRow(
                    row.numerator, row.denominator, row.asked - row.scored
                )
        return counted

    def measure(self, run_id: str) -> dict[str, ItemRow]:
        """Return the measured items of a run, weighed, whatever slice they lie in."""
        slices = self.tabulate(run_id, self.rule.labels).values()
        found = {item: row for rows in slices for item, row in rows.items() if row.units}
        weights = read_weights(self.store, run_id, self.rule.weights)
        if weights is None or not weights.knows(found):
            return found
        factors = {item: weights.factors.get(item, 0.0) for item in found}
        return {
            item: row._replace(hits=factors[item] * row.hits, units=factors[item] * row.units)
            for item, row in found.items()
        }

    def find_missing(self, run_id: str, counted: Counted) -> dict[SliceKey, int]:
        """Return slices of the golden set that the run was never asked, with their items.

        A slice that was asked and has nothing to measure (everything abstained, say) is no gap in
        the run: a note names it. Another note counts what was left out of slices that were asked.
        """
        if not self._sliced_by_items:
            return {}
        golden: dict[SliceKey, list[str]] = defaultdict(list)
        for row in self.list_own("golden", run_id):
            golden[self._slice_of(self.item_columns, row.key)].append(row.item_id)
        missing = {}
        left_out = 0
        for key, items in golden.items():
            asked = self.asked[run_id].intersection(items)
            left_out += len(items) - len(asked) if asked else 0
            if key in counted:
                continue
            if asked:
                named = ", ".join(f"{n}={v}" for n, v in zip(self.rule.by, key, strict=True))
                unit = self.rule.metric.unit
                self.notes.append(f"{named}: asked ({len(asked):,}), and no {unit} to measure.")
            else:
                missing[key] = len(items)
        if left_out:
            told = sum(map(len, golden.values()))
            self.notes.append(f"Never asked in this run: {left_out:,} of {told:,} items.")
        return missing

    def list_own(self, name: str, run_id: str, view: str = "") -> list[ItemCounts]:
        """Return what one of the gates' own queries finds among the items of the gate."""
        metric = _load_own(name, view)
        columns = (metric.series, *self.item_columns) if metric.series else self.item_columns
        rows = list_items(self.store, metric, run_id, columns, self.rule.labels)
        return [row for row in rows if self.matches(columns, row.key)]

    def matches(self, columns: Sequence[str], key: SliceKey) -> bool:
        """Return whether a slice lies within the gate's ``where``."""
        return has_values(columns, key, self.rule.gate.where)

    def take_item_part(self, key: SliceKey) -> SliceKey:
        """Return the part of a slice that items of any run have."""
        pairs = zip(self.rule.by, key, strict=True)
        return tuple(value for name, value in pairs if name in self.item_columns)

    def _choose_member(self, rows: list[ItemCounts]) -> list[ItemCounts]:
        rule = self.rule
        if rule.metric.series is None:
            return rows
        place = rule.columns.index(rule.metric.series)
        chosen = [row for row in rows if row.key[place] == rule.member]
        if rows and not chosen:
            known = sorted({str(row.key[place]) for row in rows} | set(rule.metric.notes))
            raise MetricError(
                f"gate {rule.gate.name}: "
                + describe_unknown("member", str(rule.member), known, where=rule.metric.name)
            )
        return chosen

    def _slice_of(self, columns: Sequence[str], key: SliceKey) -> SliceKey:
        values = dict(zip(columns, key, strict=True))
        return tuple(values[name] for name in self.rule.by)

    def _add_unsplit(self, run_id: str, counted: Counted) -> None:
        """Add answers that nobody split: as many unscored claims as an answer has on average."""
        rows = self.list_own("asked", run_id)
        self.asked[run_id] = frozenset(row.item_id for row in rows)
        unsplit = [row for row in rows if row.numerator]
        metric = self.rule.metric
        if metric.unit != "claim" or metric.role == "measurement" or not unsplit:
            return
        answers = round(sum(row.numerator for row in unsplit))
        if not self._sliced_by_items:
            self.notes.append(f"{answers:,} answers of {run_id} were never split into claims.")
            return
        known = [row for items in counted.values() for row in items.values()]
        size = sum(row.units + row.unscored for row in known) / len(known) if known else 1.0
        for row in unsplit:
            key = self._slice_of(self.item_columns, row.key)
            old = counted[key].get(row.item_id, ItemRow())
            counted[key][row.item_id] = old._replace(unscored=old.unscored + row.numerator * size)
            self.unsplit[run_id, key][row.item_id] = row.numerator * size
        self.notes.append(
            f"{answers:,} answers of {run_id} were never split into claims: each counts as "
            f"{size:.1f} unscored claims. Run claimwise verify."
        )


@cache
def _load_own(name: str, view: str) -> Metric:
    path = files("claimwise.gates").joinpath("sql", f"{name}.sql")
    metric = parse_metric(name, path.read_text("utf-8").replace("{view}", view), f"{name}.sql")
    return replace(metric, series="labeler") if view else metric
