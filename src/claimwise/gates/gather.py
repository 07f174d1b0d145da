"""Gathers from a store what a gate decides by: counts of every slice, and what people's rate is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from claimwise.calibration.correction import correct_run
from claimwise.calibration.headline import METRIC_OF, Basis
from claimwise.calibration.queries import list_rounds_of
from claimwise.gates.baselines import find_baseline
from claimwise.gates.counts import GateCounts, ItemRow
from claimwise.gates.doubts import Doubts
from claimwise.gates.readings import (
    CorrectedReading,
    CountedReading,
    RateReading,
    SampledReading,
    list_judge_readings,
)
from claimwise.gates.rules import GateRule
from claimwise.gates.samples import ClaimParts, read_parts, read_sampled
from claimwise.gates.tables import Counted, RuleCountReader, has_values
from claimwise.gates.trust import find_judgements
from claimwise.gates.values import Twin
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.counting import SliceKey, list_items
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval
from claimwise.metrics.weights import ItemCounting, ItemWeights, describe_unweighted, read_weights
from claimwise.store import Store
from claimwise.types.results import Weighting


@dataclass(frozen=True, kw_only=True, slots=True)
class SliceReadings:
    """What people said of a slice, a judge's verdicts being unknown; and other ways to read it."""

    people: GateCounts
    others: tuple[RateReading, ...] = ()

    def list_all(self, items: Sequence[str] | None = None) -> list[RateReading]:
        """Return all readings, people's labels as they are first: of all items, or of some."""
        table = self.people.table(items)
        basis: Basis | None = "people" if table[:, 1].any() else None
        return [CountedReading(table=table, basis=basis), *self.others]


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """Everything that a decision needs. Keys hold the values of the rule's ``by`` in order."""

    rule: GateRule
    run_id: str
    slices: Mapping[SliceKey, GateCounts]
    baseline_id: str | None = None
    baseline: Mapping[SliceKey, GateCounts] = field(default_factory=dict)
    asked: Mapping[str, frozenset[str]] = field(default_factory=dict)  # items by run
    missing: Mapping[SliceKey, int] = field(default_factory=dict)  # items nobody asked, by slice
    doubts: Mapping[SliceKey, str] = field(default_factory=dict)
    # Slices that a judge has a part in, as what is known of people's rate there: in both runs.
    readings: Mapping[SliceKey, SliceReadings] = field(default_factory=dict)
    by_people: bool = False  # labels decide, and no judge gave any of them
    base_readings: Mapping[SliceKey, SliceReadings] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    weighting: Weighting | None = None  # None: all items count alike


def gather_gate(store: Store, rule: GateRule, run_id: str) -> Gathered:
    """Count the items of every slice of a gate, in the run and in its baseline.

    Raises:
        MetricError: a slice is unknown, nothing is there or nothing is scored, or the baseline
            can't be compared with.
    """
    reader = RuleCountReader(store, rule)
    base = find_baseline(store, rule, run_id) if rule.gate.relative else None
    runs = [run_id] if base is None else [run_id, base]
    counted = {run: reader.count(run) for run in runs}
    counting = ItemCounting(
        map_clusters(store, runs, rule.cluster), _find_weights(reader, runs, counted[run_id])
    )
    judged = _JudgedRuns(reader, counted, counting)
    readings = {run: judged.read(run) for run in runs}
    return Gathered(
        rule=rule,
        run_id=run_id,
        slices=_freeze(counted[run_id], counting),
        baseline_id=base,
        baseline=_freeze(counted[base], counting) if base is not None else {},
        asked={run: reader.asked[run] for run in runs},
        missing=reader.find_missing(run_id, counted[run_id]),
        doubts=judged.doubts.reasons,
        readings=readings[run_id],
        by_people=judged.is_by_people(run_id),
        base_readings=readings[base] if base is not None else {},
        notes=tuple(reader.notes),
        weighting=_weigh(counted[run_id], counting.weights),
    )


def _freeze(counted: Counted, counting: ItemCounting) -> dict[SliceKey, GateCounts]:
    return {key: GateCounts(rows, *counting) for key, rows in counted.items()}


def _weigh(counted: Counted, weights: ItemWeights | None) -> Weighting | None:
    """Say how a gate's rates are weighted."""
    units = {item: row.units for rows in counted.values() for item, row in rows.items()}
    return None if weights is None else weights.weigh(units)


def _find_weights(
    reader: RuleCountReader, runs: Sequence[str], counted: Counted
) -> ItemWeights | None:
    """Return what items of all runs count for; a note says what of the traffic is missing."""
    weights, rule = read_weights(reader.store, runs, reader.rule.weights), reader.rule
    if weights is None:
        return None
    scored = {item for rows in counted.values() for item, row in rows.items() if row.units}
    if not weights.knows(scored):
        reader.notes.append(describe_unweighted(rule.metric))
        return None
    if not rule.gate.where:
        reader.notes += weights.describe_missing(scored)
    return weights


def measure_twin(store: Store, rule: GateRule, member: str, run_id: str) -> Twin:
    """Measure another member of a gate's metric on the items that the gate is about."""
    wanted = {rule.metric.series or "": member, **rule.gate.where}
    rows: dict[str, ItemRow] = {}
    for row in list_items(store, rule.metric, run_id, rule.columns, rule.labels):
        if has_values(rule.columns, row.key, wanted):
            hits, units, *_ = rows.get(row.item_id, ItemRow())
            rows[row.item_id] = ItemRow(hits + row.numerator, units + row.denominator)
    weights = read_weights(store, run_id, rule.weights)
    weights = weights if weights and weights.knows(rows) else None
    table = GateCounts(rows, map_clusters(store, run_id, rule.cluster), weights).table()
    counted = Histogram.from_clusters(table[:, 0], table[:, 1])
    interval = wilson_interval(counted, rule.gate.confidence)
    return Twin(
        member=member,
        rate=counted.hits / counted.units if counted.items else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        items=sum(row.units > 0 for row in rows.values()),
        units=round(sum(row.units for row in rows.values())),
    )


class _JudgedRuns:
    """Reads slices that judges have a part in, in all runs of a gate: never by their word."""

    def __init__(
        self, reader: RuleCountReader, counted: Mapping[str, Counted], counting: ItemCounting
    ) -> None:
        self._reader = reader
        self._counted = counted
        self._counting = counting
        rule = reader.rule
        # Whose error rates the metric's are: those of the share of supported, or true, claims.
        self._calibrated = next(
            (kind for kind, name in METRIC_OF.items() if name == rule.metric.name), None
        )
        kinds = find_judgements(rule.metric.labels)
        self._judgement = kinds[0] if len(kinds) == 1 else None
        self.doubts = Doubts(reader, list(counted), readable=self._calibrated is not None)
        for run, slices in counted.items():
            self.doubts.mark(run, slices)
        self._doubted = {
            key
            for slices in counted.values()
            for key, rows in slices.items()
            if any(row.untrusted for row in rows.values())
        }
        self._shared = frozenset.intersection(*(reader.asked[run] for run in counted))
        self._alike = all(reader.asked[run] == self._shared for run in counted)

    def is_by_people(self, run_id: str) -> bool:
        """Tell whether the metric rests on labels, and people alone gave those of a run."""
        return bool(self._reader.rule.metric.labels) and not self.doubts.deciders[run_id]

    def read(self, run_id: str) -> dict[SliceKey, SliceReadings]:
        """Return the slices of a run in which a judge, of this run or another, is in doubt."""
        if not self._doubted:
            return {}
        rule = self._reader.rule
        if not rule.metric.follows_policy:  # nobody can tell what of it people said
            return {}
        mixed = rule.labels == "default"
        people = self._reader.tabulate(run_id, "human") if mixed else {}
        parts = self._read_parts(run_id, people) if mixed else None
        if mixed and parts is None and self._judgement is not None and self._calibrated is None:
            return {}  # some of an item's labels say nothing of the item
        judges = {
            judge: self._reader.tabulate(run_id, f"labeler:{judge}")
            for judge in self.doubts.deciders[run_id]
            if self._calibrated is not None
        }
        sampled = self._read_sampled(run_id, parts) if parts else {}
        corrected = self._read_corrected(run_id) if mixed else []
        found = {}
        for key in self._doubted:
            rows = self._counted[run_id].get(key, {})
            labelled = _complete(rows, people.get(key, {}))
            others = [*corrected, *([sampled[key]] if key in sampled else [])]
            # As for the headline: a judge's word counts only where people said too little.
            if not corrected and not _is_half_labelled(labelled):
                others += [
                    reading
                    for judge, tables in judges.items()
                    for reading in self._read_judge(judge, run_id, rows, tables.get(key, {}))
                ]
            found[key] = SliceReadings(
                people=GateCounts(labelled, *self._counting), others=tuple(others)
            )
        return found

    def _read_parts(self, run_id: str, people: Counted) -> ClaimParts | None:
        """Return what each claim adds; our own shares of claims need it for rounds alone."""
        kind = self._judgement
        if kind is None:
            return None
        if self._calibrated and not list_rounds_of(self._reader.store, run_id, kind):
            return None
        return read_parts(self._reader, run_id, kind, people)

    def _read_sampled(self, run_id: str, parts: ClaimParts) -> dict[SliceKey, SampledReading]:
        if self._judgement is None:
            return {}
        found = read_sampled(
            self._reader.store,
            run_id,
            self._judgement,
            parts,
            self._counting,
            None if self._alike else self._shared,
        )
        return {
            key: replace(one, hidden=min(1.0, one.hidden + self._find_unsplit(run_id, key)))
            for key, one in found.items()
        }

    def _read_corrected(self, run_id: str) -> list[RateReading]:
        """Return the rate of the whole run, corrected by a round: where the gate is about it."""
        rule, kind = self._reader.rule, self._calibrated
        if kind is None or rule.by or rule.gate.where or not self._alike:
            return []
        if correct_run(self._reader.store, run_id, kind) is None:
            return []
        return [
            CorrectedReading(
                store=self._reader.store,
                run_id=run_id,
                judgement=kind,
                cluster=rule.cluster,
                weights=rule.weights,
                hidden=self._find_unsplit(run_id, ()),
            )
        ]

    def _find_unsplit(self, run_id: str, key: SliceKey) -> float:
        """Return the share of a slice's claims that stand for answers which nobody split."""
        unsplit = self._reader.unsplit[run_id, key]
        part = total = 0.0
        for item, row in self._counted[run_id].get(key, {}).items():
            factor = self._counting.find_factor(item)
            total += factor * (row.units + row.unscored)
            part += factor * unsplit.get(item, 0.0)
        return part / total if total else 0.0

    def _read_judge(
        self, judge: str, run_id: str, rows: Mapping[str, ItemRow], said: Mapping[str, ItemRow]
    ) -> list[RateReading]:
        items = [item for item in rows if item in self.doubts.deciders[run_id][judge]]
        if not items:
            return []
        return list_judge_readings(
            judge,
            GateCounts(_complete(rows, said), *self._counting),
            self.doubts.find_calibrations(judge, items),
            card=self._reader.rule.gate.calibration != "require" and self._has_card(),
        )

    def _has_card(self) -> bool:
        return self._calibrated == "grounded"


def _is_half_labelled(rows: Mapping[str, ItemRow]) -> bool:
    """Tell whether people labelled at least half of what was asked about some items."""
    scored = sum(row.units for row in rows.values())
    return 2 * scored >= scored + sum(row.unscored for row in rows.values()) > 0


def _complete(rows: Mapping[str, ItemRow], said: Mapping[str, ItemRow]) -> dict[str, ItemRow]:
    """Return what one side says of items; what it says nothing of is unscored."""
    found = {}
    for item, row in rows.items():
        own = said.get(item, ItemRow())
        left = max(0.0, row.units + row.unscored - own.units)
        found[item] = ItemRow(own.hits, own.units, left)
    return found
