"""Why a judge's labels do not count as they are, item by item and in words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from claimwise.calibration.values import Calibration
from claimwise.gates.counts import ItemRow
from claimwise.gates.tables import Counted, RuleCountReader
from claimwise.gates.trust import Doubt, Trust, describe_calibration_status, describe_doubts
from claimwise.metrics import find_metric, load_metrics
from claimwise.metrics.counting import SliceKey, list_items
from claimwise.metrics.histogram import Histogram
from claimwise.report.format import pluralize, show_percent


class Doubts:
    """Marks what judges decided in some runs, and says why it does not count as it is."""

    def __init__(self, reader: RuleCountReader, runs: Sequence[str], *, readable: bool) -> None:
        """Read who decides, and how far each can be believed.

        Args:
            reader: reads the runs.
            runs: the run and, for a relative gate, its baseline.
            readable: whether a calibration says what the judge's error in this metric is.
        """
        self._reader = reader
        self._gate = reader.rule.gate
        self._readable = readable
        views = reader.rule.metric.labels
        self.deciders = {run: _list_deciders(reader, run, views) for run in runs}
        labelers = {labeler for found in self.deciders.values() for labeler in found}
        self._foreign = {
            one for one in labelers if not all(one in found for found in self.deciders.values())
        }
        self._agreements = _measure_agreements(reader, labelers)
        self._trust = self._read_trust(labelers, views)
        self._doubts: dict[SliceKey, list[Doubt]] = defaultdict(list)

    @property
    def reasons(self) -> dict[SliceKey, str]:
        """Why judges' labels of each slice do not count, in words."""
        return {key: describe_doubts(doubts) for key, doubts in self._doubts.items()}

    def mark(self, run_id: str, counted: Counted) -> None:
        """Mark the units of a run that only a judge has judged."""
        for key, rows in counted.items():
            self._mark_clusters(key, rows, self.deciders[run_id])
            for labeler, labels in sorted(self.deciders[run_id].items()):
                for item in [item for item in rows if item in labels]:
                    doubt = self._find(labeler, item, key)
                    if doubt is None:
                        continue
                    row = rows[item]
                    rows[item] = row._replace(untrusted=row.untrusted + labels[item])
                    self._note(key, doubt)

    def _note(self, key: SliceKey, doubt: Doubt) -> None:
        if doubt.why and doubt not in self._doubts[key]:
            self._doubts[key].append(doubt)

    def find_calibrations(self, judge: str, items: Sequence[str]) -> list[Calibration]:
        """Return the calibrations that hold for all of these items and find a judge trusted.

        None of them where one item is in doubt.
        """
        known = [self._trust.find(judge, item) if self._trust else None for item in items]
        if not all(one and one[0] == "trusted" for one in known):
            return []
        return list({one[1].calibration_id: one[1] for one in known if one}.values())

    def _mark_clusters(
        self, key: SliceKey, rows: dict[str, ItemRow], deciders: Mapping[str, object]
    ) -> None:
        """Doubt what a metric counts by something other than items: nobody knows who judged it."""
        if not deciders or self._gate.min_agreement == 0:
            return
        for cluster in rows.keys() - self._reader.items:
            rows[cluster] = rows[cluster]._replace(untrusted=rows[cluster].units)
            told = (
                f"{self._reader.rule.metric.name} counts by something other than items, so which "
                f"of it {', '.join(sorted(deciders))} judged is unknown"
            )
            self._doubts[key] = [Doubt(told)]

    def _find(self, labeler: str, item_id: str, key: SliceKey) -> Doubt | None:
        """Return the doubt about an item, or None when the labels count as they are.

        Agreement as such never is enough: a judge that always says “supported” agrees with people
        on whatever share of the claims is. It takes a calibration that holds for such items, and
        that says what the error in this metric is. The reason is empty where there is one: the
        slice then has a reading with that error.
        """
        if labeler in self._foreign:
            return Doubt(f"{labeler} judged only one of the two runs")
        if self._gate.min_agreement == 0:
            return None
        known = self._trust.find(labeler, item_id) if self._trust else None
        if known is not None and known[0] == "trusted":
            name = self._reader.rule.member or self._reader.rule.metric.name
            why = "" if self._readable else f"nobody has measured how far {labeler} errs in {name}"
            return Doubt(why)
        if known is not None:
            return describe_calibration_status(labeler, *known)
        if self._gate.calibration == "require":
            return Doubt(f"{labeler}: no calibration for such items (claimwise calibrate)")
        place = labeler, self._reader.take_item_part(key)
        return Doubt(_describe_agreement(labeler, self._agreements.get(place)))

    def _read_trust(self, labelers: set[str], views: Sequence[str]) -> Trust | None:
        """Return the calibrations that decide; None where the gate is to ignore them."""
        if self._gate.calibration == "ignore" or not labelers:
            return None
        trust = Trust(self._reader.store, labelers, views)
        self._reader.notes += [trust.describe(labeler) for labeler in trust.labelers]
        return trust


def _list_deciders(
    reader: RuleCountReader, run_id: str, views: Sequence[str]
) -> dict[str, dict[str, float]]:
    """Return the number of labels by judge and item."""
    found: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    for view in views:
        for row in reader.list_own("deciders", run_id, view):
            found[str(row.key[0])][row.item_id] += row.numerator
    return dict(found)


def _measure_agreements(
    reader: RuleCountReader, labelers: set[str]
) -> dict[tuple[str, SliceKey], Histogram]:
    """Measure each judge against people, slice by slice, over all runs of the store.

    A judge's name holds its version, so what it did in another run is its own doing.
    """
    if not labelers:
        return {}
    metric = find_metric(load_metrics(), "verifier_agreement")
    columns = ("labeler", *reader.item_columns)
    sums: dict[tuple[str, SliceKey], dict[str, tuple[float, float]]] = defaultdict(dict)
    for (run_id,) in reader.store.query(_LABELLED_RUNS):
        for row in list_items(reader.store, metric, run_id, columns, "default"):
            labeler = str(row.key[0])
            if labeler in labelers and reader.matches(columns, row.key):
                values = dict(zip(columns, row.key, strict=True))
                part = tuple(values[name] for name in reader.rule.by if name in values)
                items = sums[labeler, part]
                hits, units = items.get(row.item_id, (0.0, 0.0))
                items[row.item_id] = hits + row.numerator, units + row.denominator
    return {
        place: Histogram.from_pairs((hits, units, 1) for hits, units in items.values())
        for place, items in sums.items()
    }


_LABELLED_RUNS: Final = (
    "select r.run_id from runs as r where exists (select 1 from standing_labels as l "
    "where l.run_id = r.run_id and l.label_kind <> 'verifier') or exists (select 1 from "
    "standing_closed_book_labels as l where l.run_id = r.run_id and l.label_kind <> 'verifier') "
    "order by r.run_id"
)


def _describe_agreement(labeler: str, found: Histogram | None) -> str:
    if found is None:
        return f"{labeler}: agreement with people unknown"
    rate = found.hits / found.units
    return (
        f"{labeler} agrees with people on {show_percent(rate)} of "
        f"{pluralize(found.units, 'claim')} here, but isn't calibrated for such items (claimwise "
        "calibrate)"
    )
