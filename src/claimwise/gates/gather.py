"""Gathers from a store what a gate decides by: counts of every slice, and whom to believe."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Final

import msgspec

from claimwise.calibration.correction import correct_run
from claimwise.calibration.headline import METRIC_OF
from claimwise.errors import MetricError, describe_unknown
from claimwise.gates.bounds import bound_to_pass
from claimwise.gates.counts import GateCounts, ItemRow
from claimwise.gates.readings import CorrectedReading, Reading, list_judge_readings
from claimwise.gates.rules import GateRule
from claimwise.gates.trust import Trust, describe_standing
from claimwise.gates.values import Gate, Twin
from claimwise.metrics import Metric, find_metric, load_metrics
from claimwise.metrics.catalogue import parse_metric
from claimwise.metrics.counting import (
    ItemCounts,
    SliceKey,
    list_attributes,
    list_items,
    map_clusters,
)
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import wilson_interval
from claimwise.metrics.proposals import describe_proposals
from claimwise.store import Store
from claimwise.types.rows import Item, Judgement

PREVIOUS: Final = "previous"
BEST: Final = "best"
NO_ANCHOR: Final = "none"
MOST_ANCHORS: Final = 100  # earlier runs among which the best is sought


@dataclass(frozen=True, kw_only=True, slots=True)
class SliceAgreement:
    """How far an instrument agrees with people in a slice; without claims it is unknown."""

    claims: int = 0
    rate: float | None = None
    low: float | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class SliceReadings:
    """What people said of a slice, a judge's verdicts being unknown; and what those can add."""

    people: GateCounts
    others: tuple[Reading, ...]


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
    # Slices that rest on a judge, as what is known of people's rate there.
    readings: Mapping[SliceKey, SliceReadings] = field(default_factory=dict)
    # What a drop by the judges is at least worth of a drop by people: 1 for people's own labels.
    strength: float = 1.0
    notes: tuple[str, ...] = ()


def gather_gate(store: Store, rule: GateRule, run_id: str) -> Gathered:
    """Count the items of every slice of a gate, in the run and in its baseline.

    Raises:
        MetricError: a slice is unknown, nothing is there or nothing is scored, or the baseline
            can't be compared with.
    """
    reader = _Reader(store, rule)
    reader.clusters = map_clusters(store, run_id, rule.cluster)
    base = _find_baseline(store, rule, run_id) if rule.gate.relative else None
    runs = [run_id] if base is None else [run_id, base]
    counted = {run: reader.count(run) for run in runs}
    reader.doubt(counted)
    return Gathered(
        rule=rule,
        run_id=run_id,
        slices=_freeze(counted[run_id], reader.clusters),
        baseline_id=base,
        baseline=_freeze(counted[base], reader.clusters) if base is not None else {},
        asked={run: reader.asked[run] for run in runs},
        missing=reader.find_missing(run_id, counted[run_id]),
        doubts=reader.doubts,
        readings=reader.read_judges(run_id, counted[run_id]) if base is None else {},
        strength=reader.strength,
        notes=tuple(reader.notes),
    )


def measure_twin(store: Store, rule: GateRule, member: str, run_id: str) -> Twin:
    """Measure another member of a gate's metric on the items that the gate is about."""
    rows = [
        row
        for row in list_items(store, rule.metric, run_id, rule.columns, rule.labels)
        if _has(rule.columns, row.key, {rule.metric.series or "": member, **rule.gate.where})
    ]
    counted = Histogram.from_pairs((row.numerator, row.denominator, 1) for row in rows)
    interval = wilson_interval(counted, rule.gate.confidence)
    return Twin(
        member=member,
        rate=counted.hits / counted.units if counted.items else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        items=counted.items,
        units=round(counted.units),
    )


def _has(columns: Sequence[str], key: SliceKey, wanted: Mapping[str, str]) -> bool:
    """Return whether a slice has the wanted values, as far as it has those columns."""
    values = dict(zip(columns, key, strict=True))
    return all(values[name] == value for name, value in wanted.items() if name in values)


_Counted = dict[SliceKey, dict[str, ItemRow]]


def _freeze(counted: _Counted, clusters: Mapping[str, str]) -> dict[SliceKey, GateCounts]:
    return {key: GateCounts(rows, clusters) for key, rows in counted.items()}


class _Reader:
    """Reads one rule's counts from a store."""

    def __init__(self, store: Store, rule: GateRule) -> None:
        self._store = store
        self._rule = rule
        of_items = {*Item.__struct_fields__, *list_attributes(store)}
        wanted = dict.fromkeys((*rule.by, *rule.gate.where))
        self._item_columns = tuple(name for name in wanted if name in of_items)
        # Whether an item's slice is known without the metric: own columns of a metric are not.
        self._sliced_by_items = set(wanted) <= of_items
        self._items = {row[0] for row in store.query("select item_id from eval_items")}
        self.asked: dict[str, frozenset[str]] = {}
        self.doubts: dict[SliceKey, str] = {}
        self.notes: list[str] = []
        self.strength = 1.0
        self.clusters: Mapping[str, str] = {}
        self._judgement = _find_judgement(rule)
        self._deciders: dict[str, dict[str, dict[str, float]]] = {}
        self._trust: Trust | None = None

    def count(self, run_id: str) -> _Counted:
        """Return the items of every slice; what is not scored is counted beside the rest."""
        rule, gate = self._rule, self._rule.gate
        counted = self._tabulate(run_id, rule.labels)
        self._add_unsplit(run_id, counted)
        proposed = describe_proposals(self._store, rule.metric, run_id)
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

    def _tabulate(self, run_id: str, labels: str) -> _Counted:
        rule = self._rule
        rows = list_items(self._store, rule.metric, run_id, rule.columns, labels)
        counted: _Counted = defaultdict(dict)
        for row in self._choose_member(rows, run_id):
            if self._matches(rule.columns, row.key):
                counted[self._slice_of(rule.columns, row.key)][row.item_id] = ItemRow(
                    row.numerator, row.denominator, row.asked - row.scored
                )
        return counted

    def measure(self, run_id: str) -> dict[str, ItemRow]:
        """Return the measured items of a run, whatever slice they lie in."""
        slices = self._tabulate(run_id, self._rule.labels).values()
        return {item: row for rows in slices for item, row in rows.items() if row.units}

    def read_judges(self, run_id: str, counted: _Counted) -> dict[SliceKey, SliceReadings]:
        """Return how slices that rest on a judge may be read, where its error can be allowed for.

        That is so for the share of supported (or true) claims: people's labels, the judge's own
        verdicts with its error and, for a whole run, the rate corrected by a round.
        """
        doubted = [k for k, rows in counted.items() if any(r.untrusted for r in rows.values())]
        if self._judgement is None or not doubted:
            return {}
        mixed = self._rule.labels == "default"
        people = self._tabulate(run_id, "human") if mixed else {}
        judges = {
            judge: self._tabulate(run_id, f"labeler:{judge}") for judge in self._deciders[run_id]
        }
        whole = mixed and not self._rule.by and not self._rule.gate.where
        corrected: tuple[Reading, ...] = ()
        if whole and correct_run(self._store, run_id, self._judgement) is not None:
            reading = CorrectedReading(store=self._store, run_id=run_id, judgement=self._judgement)
            corrected = (reading,)
        found = {}
        for key in doubted:
            rows = counted[key]
            others = [
                reading
                for judge, tables in judges.items()
                for reading in self._read_judge(judge, run_id, rows, tables.get(key, {}))
            ]
            told = GateCounts(_complete(rows, people.get(key, {})), self.clusters)
            found[key] = SliceReadings(people=told, others=(*corrected, *others))
        return found

    def _read_judge(
        self, judge: str, run_id: str, rows: dict[str, ItemRow], said: Mapping[str, ItemRow]
    ) -> list[Reading]:
        items = [item for item in rows if item in self._deciders[run_id][judge]]
        if not items:
            return []
        known = [self._trust.find(judge, item) if self._trust else None for item in items]
        calibrations = {
            one[1].calibration_id: one[1] for one in known if one and one[0] == "trusted"
        }
        holds = all(one and one[0] == "trusted" for one in known)
        card = self._rule.gate.calibration != "require" and self._judgement == "grounded"
        table = GateCounts(_complete(rows, said), self.clusters).table()
        return list_judge_readings(
            judge, table, list(calibrations.values()) if holds else [], card=card
        )

    def find_missing(self, run_id: str, counted: _Counted) -> dict[SliceKey, int]:
        """Return slices of the golden set that the run was never asked, with their items.

        A slice that was asked and has nothing to measure (everything abstained, say) is no gap in
        the run: a note names it. Another note counts what was left out of slices that were asked.
        """
        if not self._sliced_by_items:
            return {}
        golden: dict[SliceKey, list[str]] = defaultdict(list)
        for row in self._list_own("golden", run_id):
            golden[self._slice_of(self._item_columns, row.key)].append(row.item_id)
        missing = {}
        left_out = 0
        for key, items in golden.items():
            asked = self.asked[run_id].intersection(items)
            left_out += len(items) - len(asked) if asked else 0
            if key in counted:
                continue
            if asked:
                named = ", ".join(f"{n}={v}" for n, v in zip(self._rule.by, key, strict=True))
                unit = self._rule.metric.unit
                self.notes.append(f"{named}: asked ({len(asked):,}), and no {unit} to measure.")
            else:
                missing[key] = len(items)
        if left_out:
            told = sum(map(len, golden.values()))
            self.notes.append(f"Never asked in this run: {left_out:,} of {told:,} items.")
        return missing

    def doubt(self, counted: Mapping[str, _Counted]) -> None:
        """Mark units that an instrument judged which may not decide, and say why."""
        views = self._rule.metric.labels
        deciders = {run: self._list_deciders(run, views) for run in counted}
        labelers = {labeler for found in deciders.values() for labeler in found}
        foreign = {one for one in labelers if not all(one in found for found in deciders.values())}
        agreements = self._measure_agreements(labelers)
        self._deciders, self._trust = deciders, self._read_trust(labelers, views)
        # A change has no reading of its own: trusted verdicts count, for what they are worth.
        readable = self._judgement is not None and len(counted) == 1
        for run, slices in counted.items():
            for key, rows in slices.items():
                self._doubt_clusters(key, rows, deciders[run])
                for labeler, labels in sorted(deciders[run].items()):
                    found = agreements.get((labeler, self._item_part(key)), SliceAgreement())
                    doubt = _Doubt(
                        self._rule.gate, labeler, labeler in foreign, found, self._trust, readable
                    )
                    self._doubt_labels(key, rows, labels, doubt)

    def _doubt_clusters(
        self, key: SliceKey, rows: dict[str, ItemRow], deciders: Mapping[str, object]
    ) -> None:
        """Doubt what a metric counts by something other than items: nobody knows who judged it."""
        if not deciders or self._rule.gate.min_agreement == 0:
            return
        for cluster in rows.keys() - self._items:
            rows[cluster] = rows[cluster]._replace(untrusted=rows[cluster].units)
            self.doubts[key] = (
                f"{self._rule.metric.name} counts by something other than items, so which of it "
                f"{', '.join(sorted(deciders))} judged is unknown"
            )

    def _doubt_labels(
        self, key: SliceKey, rows: dict[str, ItemRow], labels: Mapping[str, float], doubt: _Doubt
    ) -> None:
        for item in [item for item in rows if item in labels]:
            why = doubt.find(item)
            if why is None:
                self.strength = min(self.strength, doubt.find_strength(item))
                continue
            row, more = rows[item], labels[item]
            rows[item] = row._replace(
                untrusted=row.untrusted + more,
                foreign=row.foreign + (more if doubt.foreign else 0),
            )
            told = self.doubts.get(key)
            if why and why not in (told or ""):
                self.doubts[key] = f"{told}; {why}" if told else why

    def _read_trust(self, labelers: set[str], views: Sequence[str]) -> Trust | None:
        """Return the calibrations that decide; None where the gate is to ignore them."""
        if self._rule.gate.calibration == "ignore" or not labelers:
            return None
        trust = Trust(self._store, labelers, views)
        self.notes += [trust.describe(labeler) for labeler in trust.labelers]
        return trust

    def _choose_member(self, rows: list[ItemCounts], run_id: str) -> list[ItemCounts]:
        rule = self._rule
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

    def _matches(self, columns: Sequence[str], key: SliceKey) -> bool:
        return _has(columns, key, self._rule.gate.where)

    def _slice_of(self, columns: Sequence[str], key: SliceKey) -> SliceKey:
        values = dict(zip(columns, key, strict=True))
        return tuple(values[name] for name in self._rule.by)

    def _item_part(self, key: SliceKey) -> SliceKey:
        """Return the part of a slice that items of any run have."""
        pairs = zip(self._rule.by, key, strict=True)
        return tuple(value for name, value in pairs if name in self._item_columns)

    def _list_own(self, name: str, run_id: str, view: str = "") -> list[ItemCounts]:
        metric = _load_own(name, view)
        columns = (metric.series, *self._item_columns) if metric.series else self._item_columns
        rows = list_items(self._store, metric, run_id, columns, self._rule.labels)
        return [row for row in rows if self._matches(columns, row.key)]

    def _add_unsplit(self, run_id: str, counted: _Counted) -> None:
        """Add answers that nobody split: as many unscored claims as an answer has on average."""
        rows = self._list_own("asked", run_id)
        self.asked[run_id] = frozenset(row.item_id for row in rows)
        unsplit = [row for row in rows if row.numerator]
        metric = self._rule.metric
        if metric.unit != "claim" or metric.role == "measurement" or not unsplit:
            return
        answers = round(sum(row.numerator for row in unsplit))
        if not self._sliced_by_items:
            self.notes.append(f"{answers:,} answers of {run_id} were never split into claims.")
            return
        known = [row for items in counted.values() for row in items.values()]
        size = sum(row.units + row.unscored for row in known) / len(known) if known else 1.0
        for row in unsplit:
            items = counted[self._slice_of(self._item_columns, row.key)]
            old = items.get(row.item_id, ItemRow())
            items[row.item_id] = old._replace(unscored=old.unscored + row.numerator * size)
        self.notes.append(
            f"{answers:,} answers of {run_id} were never split into claims: each counts as "
            f"{size:.1f} unscored claims. Run claimwise verify."
        )

    def _list_deciders(self, run_id: str, views: Sequence[str]) -> dict[str, dict[str, float]]:
        """Return the number of labels by instrument and item."""
        found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        for view in views:
            for row in self._list_own("deciders", run_id, view):
                found[str(row.key[0])][row.item_id] += row.numerator
        return dict(found)

    def _measure_agreements(self, labelers: set[str]) -> dict[tuple[str, SliceKey], SliceAgreement]:
        """Measure each instrument against people, slice by slice, over all runs of the store.

        An instrument's name holds its version, so what it did in another run is its own doing.
        """
        if not labelers:
            return {}
        metric = find_metric(load_metrics(), "verifier_agreement")
        columns = ("labeler", *self._item_columns)
        sums: dict[tuple[str, SliceKey], dict[str, tuple[float, float]]] = defaultdict(dict)
        for (run_id,) in self._store.query(_LABELLED_RUNS):
            for row in list_items(self._store, metric, run_id, columns, "default"):
                labeler = str(row.key[0])
                if labeler in labelers and self._matches(columns, row.key):
                    values = dict(zip(columns, row.key, strict=True))
                    part = tuple(values[name] for name in self._rule.by if name in values)
                    items = sums[labeler, part]
                    hits, units = items.get(row.item_id, (0.0, 0.0))
                    items[row.item_id] = hits + row.numerator, units + row.denominator
        return {place: self._summarize(items) for place, items in sums.items()}

    def _summarize(self, items: Mapping[str, tuple[float, float]]) -> SliceAgreement:
        counted = Histogram.from_pairs((hits, units, 1) for hits, units in items.values())
        return SliceAgreement(
            claims=round(counted.units),
            rate=counted.hits / counted.units,
            low=bound_to_pass(counted, self._rule.gate.confidence, "lower"),
        )


@dataclass(frozen=True, slots=True)
class _Doubt:
    """Why a judge's labels do not count as they are."""

    gate: Gate
    labeler: str
    foreign: bool  # it judged only one of the two runs
    measured: SliceAgreement
    trust: Trust | None
    readable: bool  # its error can be allowed for: no label counts as it is

    def find(self, item_id: str) -> str | None:
        """Return the reason for an item, or None when the labels count as they are.

        Agreement as such never is enough: a judge that always says “supported” agrees with people
        on whatever share of the claims is. It takes a calibration that holds for such items. The
        reason is empty where the judge is trusted, and its error is part of the slice's range.
        """
        gate, labeler = self.gate, self.labeler
        if self.foreign:
            return f"{labeler} judged only one of the two runs"
        if gate.min_agreement == 0:
            return None
        known = self.trust.find(labeler, item_id) if self.trust else None
        if known is not None:
            if known[0] != "trusted":
                return describe_standing(labeler, *known)
            return "" if self.readable else None
        if gate.calibration == "require":
            return f"{labeler}: no calibration for such items (claimwise calibrate)"
        return _describe_doubt(labeler, self.measured)

    def find_strength(self, item_id: str) -> float:
        """Return how much of people's change the judge shows at least: Youden's index.

        A judge that misses a tenth of both kinds shows 8 points where people see 10.
        """
        known = self.trust.find(self.labeler, item_id) if self.trust else None
        if known is None or self.gate.min_agreement == 0:
            return 1.0
        hits, rejects = known[1].sensitivity.low or 0.0, known[1].specificity.low or 0.0
        return max(0.0, hits + rejects - 1)


def _find_judgement(rule: GateRule) -> Judgement | None:
    """Return whose error rates a metric's are: those of the share of supported or true claims."""
    return next((kind for kind, name in METRIC_OF.items() if name == rule.metric.name), None)


def _complete(rows: Mapping[str, ItemRow], said: Mapping[str, ItemRow]) -> dict[str, ItemRow]:
    """Return what one side says of items; what it says nothing of is unscored."""
    found = {}
    for item, row in rows.items():
        own = said.get(item, ItemRow())
        left = max(0.0, row.units + row.unscored - own.units)
        found[item] = ItemRow(own.hits, own.units, left)
    return found


_LABELLED_RUNS: Final = (
    "select r.run_id from runs as r where exists (select 1 from standing_labels as l "
    "where l.run_id = r.run_id and l.label_kind <> 'verifier') or exists (select 1 from "
    "standing_closed_book_labels as l where l.run_id = r.run_id and l.label_kind <> 'verifier') "
    "order by r.run_id"
)


@cache
def _load_own(name: str, view: str) -> Metric:
    path = files("claimwise.gates").joinpath("sql", f"{name}.sql")
    metric = parse_metric(name, path.read_text("utf-8").replace("{view}", view), f"{name}.sql")
    return replace(metric, series="labeler") if view else metric


def _describe_doubt(labeler: str, found: SliceAgreement) -> str:
    if found.rate is None:
        return f"{labeler}: agreement with people unknown"
    return (
        f"{labeler} agrees with people on {found.rate:.3f} of {found.claims:,} claims, and nobody "
        "has calibrated it for such items (claimwise calibrate)"
    )


def find_anchor(store: Store, rule: GateRule, run_id: str, previous: str) -> str | None:
    """Return the run that a slow slide is held against; None when it is the previous one.

    It is the one that the gate names, or the best by the gate's own metric among the latest
    earlier runs of the same system on the same corpus version that share at least half of this
    run's items with it.

    Raises:
        MetricError: the gate names a run that can't be compared with.
    """
    gate = rule.gate
    if gate.anchor == NO_ANCHOR:
        return None
    if gate.anchor != BEST:
        pinned = replace(rule, gate=msgspec.structs.replace(gate, baseline=gate.anchor))
        found = _find_baseline(store, pinned, run_id)
        return None if found == previous else found
    reader = _Reader(store, rule)
    own = reader.measure(run_id)
    rated = []
    for earlier in _list_earlier(store, run_id)[:MOST_ANCHORS]:
        items = reader.measure(earlier)
        units = sum(row.units for row in items.values())
        if units and 2 * len(items.keys() & own.keys()) >= len(own):
            rated.append((sum(row.hits for row in items.values()) / units, earlier))
    if not rated:
        return None
    # Of equal ones the latest: it is listed first.
    sign = 1 if rule.better == "higher" else -1
    best = max(rated, key=lambda one: sign * one[0])[1]
    return None if best == previous else best


def _list_earlier(store: Store, run_id: str) -> list[str]:
    """Return the runs of the same system and corpus version before a run, the latest first."""
    rows = store.query(
        "select e.run_id from runs as e join runs as r on r.run_id = :run_id "
        "where e.system = r.system and e.corpus_ver = r.corpus_ver "
        "and e.started_at < r.started_at order by e.started_at desc, e.run_id desc",
        {"run_id": run_id},
    )
    return [row[0] for row in rows]


def _find_baseline(store: Store, rule: GateRule, run_id: str) -> str:
    """Return the baseline's id.

    ``previous`` is the run of the same system that started last before this one.

    Raises:
        MetricError: there is none, it is the run itself, or it ran on another corpus version.
    """
    gate = rule.gate
    wanted = gate.baseline or ""
    runs = {
        row[0]: row[1:]
        for row in store.query("select run_id, system, corpus_ver, started_at from runs")
    }
    system, corpus, started = runs[run_id]
    if wanted == PREVIOUS:
        earlier = [
            (values[2], name)
            for name, values in runs.items()
            if values[0] == system and values[2] < started
        ]
        if not earlier:
            raise MetricError(
                f"gate {gate.name}: {system!r} has no run before {run_id!r} to compare with; "
                "import one, or name a baseline"
            )
        wanted = max(earlier)[1]
    if wanted not in runs:
        raise MetricError(
            f"gate {gate.name}: {describe_unknown('run', wanted, sorted(runs), where=store.place)}"
        )
    if wanted == run_id:
        raise MetricError(
            f"gate {gate.name}: the baseline {wanted!r} is the run itself; check another run, or "
            "name another baseline"
        )
    if runs[wanted][1] != corpus:
        raise MetricError(
            f"gate {gate.name}: the baseline {wanted!r} used corpus {runs[wanted][1]!r} and run "
            f"{run_id!r} used {corpus!r}, so their difference is not the system's alone; "
            f"`claimwise drift {wanted} {run_id}` explains it"
        )
    return str(wanted)
