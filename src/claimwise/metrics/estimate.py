"""Puts intervals on a metric: overall, and by slice with the worst first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import ceil
from typing import Any, Final, Literal, NamedTuple

from claimwise.errors import MetricError, describe_unknown
from claimwise.metrics.catalogue import Metric
from claimwise.metrics.counting import (
    Narrowing,
    SliceCounts,
    SliceKey,
    count_items,
    has_clusters,
    list_item_columns,
    merge_counts,
)
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import (
    INTERVALS,
    Interval,
    design_effect,
    detectable_difference,
    intraclass_correlation,
    korn_graubard_bound,
    rate,
    simultaneous_confidence,
    warnings_for,
)
from claimwise.metrics.proposals import describe_proposals
from claimwise.metrics.weights import (
    ItemWeights,
    WeightedItems,
    describe_unweighted,
    read_weights,
    weigh_items,
)
from claimwise.report.format import show_rate
from claimwise.store import Store
from claimwise.store.runs import list_run_ids
from claimwise.types.results import Better, Estimate, MetricTable, Settings

_MOST_RESAMPLES: Final = 1_000_000
_RESAMPLES_IN_TAIL: Final = 10


def estimate_metric(
    store: Store,
    metric: Metric,
    run_id: str,
    by: Sequence[str] = (),
    settings: Settings | None = None,
    *,
    margins: bool = False,
    labels: str | Narrowing | None = None,
) -> MetricTable:
    """Estimate one metric of one run, overall and by slice.

    Items are the clusters. Slices are ordered worst first by their micro rate (for the members
    of a series one after the other); slices without a rate come last.

    Args:
        store: where the rows are.
        metric: what to estimate.
        run_id: the run.
        by: columns of items, runs, attributes or the metric itself; a slice is a combination.
        settings: how to estimate.
        margins: add the slices by each column alone, which hold more items.
        labels: the labels that count, where those are narrower than the settings say.

    Raises:
        MetricError: run, slice or settings are unknown, or the metric breaks its contract.
    """
    settings = settings or Settings()
    check_settings(settings)
    refuse_unknown_run(store, run_id)
    check_labeler(store, settings.labels)
    series = (metric.series,) if metric.series else ()
    by = tuple(name for name in dict.fromkeys(by) if name not in series)
    groupings: list[tuple[str, ...]] = [by] if by else []
    if margins and len(by) > 1:
        groupings += [(name,) for name in by]
    counted = _count_groupings(
        store, metric, run_id, series, by, [(), *groupings], settings, labels or settings.labels
    )
    sliced = [((*series, *names), counted[names]) for names in groupings]
    whole = _estimate_all(metric, run_id, [(series, counted[()])], settings)
    slices = _estimate_all(metric, run_id, sliced, settings)
    if weights := read_weights(store, run_id, settings.weights):
        weigher = _Weigher(store, metric, weights, settings, labels or settings.labels)
        whole, slices = weigher.apply(whole), weigher.apply(slices)
    proposed = describe_proposals(store, metric, run_id)
    return MetricTable(
        metric=metric.name,
        title=metric.title,
        meaning=metric.meaning,
        unit=metric.unit,
        series=metric.series,
        notes=metric.notes,
        needs=metric.needs,
        run_id=run_id,
        by=by,
        settings=settings,
        overall=tuple(
            replace(row, warnings=(*row.warnings, proposed)) if proposed and row.claims else row
            for row in _order_overall(metric, whole)
        ),
        slices=tuple(sorted(slices, key=lambda row: _badness(metric, row))),
    )


Counts = dict[SliceKey, SliceCounts]


def _count_groupings(
    store: Store,
    metric: Metric,
    run_id: str,
    series: tuple[str, ...],
    by: tuple[str, ...],
    groupings: Sequence[tuple[str, ...]],
    settings: Settings,
    labels: str | Narrowing,
) -> dict[tuple[str, ...], Counts]:
    """Count once by all columns and add up; where an item may lie in two slices, count each."""
    columns = (*series, *by)
    finest = count_items(store, metric, run_id, columns, labels, settings.cluster)
    per_item = set(by) <= set(list_item_columns(store)) and not has_clusters(
        store, run_id, settings.cluster
    )
    found = {}
    for names in groupings:
        wanted = (*series, *names)
        if per_item or wanted == columns:
            found[names] = merge_counts(finest, [columns.index(name) for name in wanted])
        else:
            found[names] = count_items(store, metric, run_id, wanted, labels, settings.cluster)
    return found


class _Weigher(NamedTuple):
    """Weighs the items behind estimates of one metric of a run."""

    store: Store
    metric: Metric
    weights: ItemWeights
    settings: Settings
    labels: str | Narrowing

    def apply(self, rows: list[Estimate]) -> list[Estimate]:
        """Return estimates with their items weighed, those whose intervals hold together."""
        series = (self.metric.series,) if self.metric.series else ()
        slices = {
            tuple(pair for pair in one.slice.items() if pair[0] not in series) for one in rows
        }
        found = {
            columns: weigh_items(
                self.store, self.metric, rows[0].run_id, columns, self.weights, self.settings,
                self.labels,
            )
            for columns in dict.fromkeys(tuple(one.slice) for one in rows if one.items)
        }  # fmt: skip
        return [
            self._weigh(one, found[tuple(one.slice)].get(tuple(one.slice.values())), len(slices))
            if one.items
            else one
            for one in rows
        ]

    def _weigh(self, one: Estimate, weighed: WeightedItems | None, compared: int) -> Estimate:
        if weighed is None:
            if set(one.slice) - {self.metric.series}:
                return one
            return replace(one, warnings=(describe_unweighted(self.metric), *one.warnings))
        if not weighed.histogram.items or one.micro is None or one.low is None or one.high is None:
            return replace(one, warnings=(*weighed.warnings, *one.warnings))
        figures = _measure(weighed.histogram, compared, self.settings, weighed.per_item)
        rate, scored = figures["micro"] or 0.0, weighed.scored
        plain = one.micro, one.low, one.high
        note = f"Weighted by {weighed.weighting.column}."  # one footnote for all slices
        if not set(one.slice) - {self.metric.series}:
            note = f"{weighed.weighting.start_sentence()}; unweighted {show_rate(*plain)}."
        return replace(
            one,
            **figures,
            bound_low=rate * scored,
            bound_high=rate * scored + 1 - scored,
            warnings=(note, *weighed.warnings, *one.warnings),
            unweighted=plain,
            weighting=weighed.weighting,
        )


def refuse_unknown_run(store: Store, run_id: str) -> None:
    """Refuse a run that is not there, naming those that are."""
    if not store.query("select 1 from runs where run_id = :run_id", {"run_id": run_id}):
        raise MetricError(describe_unknown("run", run_id, list_run_ids(store), where=store.place))


def check_labeler(store: Store, labels: str) -> None:
    """Refuse a policy that names a labeler who is not there."""
    kind, _, name = labels.partition(":")
    known = "select labeler from labelers order by labeler_kind, labeler"
    if kind == "labeler" and name:
        found = store.query("select 1 from labelers where labeler = :name", {"name": name})
        if not found:
            raise MetricError(
                describe_unknown("labeler", name, (row[0] for row in store.query(known)))
            )


def check_settings(settings: Settings) -> None:
    """Refuse settings that no method can work with."""
    if settings.method not in INTERVALS:
        raise MetricError(describe_unknown("interval", settings.method, INTERVALS))
    check_confidence(settings.confidence)
    if not 100 <= settings.resamples <= _MOST_RESAMPLES:
        raise MetricError(
            f"resamples must be between 100 and {_MOST_RESAMPLES:,}, not {settings.resamples}"
        )
    if settings.seed < 0:
        raise MetricError(f"seed must be 0 or more, not {settings.seed}")


def check_confidence(confidence: float) -> None:
    """Refuse a level of confidence that no interval can have."""
    if not 0.5 < confidence <= 0.9999:
        raise MetricError(
            f"confidence must be above 0.5 and at most 0.9999, such as 0.95, not {confidence}"
        )


def _estimate_all(
    metric: Metric,
    run_id: str,
    tables: Sequence[tuple[tuple[str, ...], Counts]],
    settings: Settings,
) -> list[Estimate]:
    """Estimate all slices of several groupings, whose intervals are to hold together."""
    # Members of a series are different rates; slices of one rate are compared with each other.
    skipped = 1 if metric.series else 0
    compared = sum(len({key[skipped:] for key in counts}) for _, counts in tables)
    found = []
    for by, counts in tables:
        if not by and not counts:
            counts = {(): SliceCounts()}
        for key, slice_counts in counts.items():
            found.append(
                _estimate_slice(metric, run_id, by, key, slice_counts, max(1, compared), settings)
            )
    return found


def estimate_counts(
    metric: Metric, run_id: str, counts: SliceCounts, settings: Settings, member: str | None = None
) -> Estimate:
    """Estimate a rate of items that were counted elsewhere: the whole, or a series' member."""
    by, key = ((metric.series,), (member,)) if metric.series else ((), ())
    return _estimate_slice(metric, run_id, by, key, counts, 1, settings)


def _estimate_slice(
    metric: Metric,
    run_id: str,
    by: tuple[str, ...],
    key: SliceKey,
    counts: SliceCounts,
    compared: int,
    settings: Settings,
) -> Estimate:
    histogram = counts.histogram()
    better = metric.better_for(key[0] if metric.series and key else None)
    unscored = counts.asked - counts.scored
    bound_low, bound_high = _bound(histogram, unscored)
    return Estimate(
        metric=metric.name,
        run_id=run_id,
        slice=dict(zip(by, key, strict=True)),
        better=better,
        bound_low=bound_low,
        bound_high=bound_high,
        confidence=settings.confidence,
        items=histogram.items,
        claims=round(histogram.units),
        asked=counts.asked,
        scored=counts.scored,
        unscored=unscored,
        numerator=histogram.hits,
        warnings=_warnings(metric, histogram, better, counts),
        **_measure(histogram, compared, settings),
    )


def _measure(
    histogram: Histogram, compared: int, settings: Settings, per_item: Histogram | None = None
) -> dict[str, Any]:
    """Return the rates of counted items and everything that says how sure they are."""
    per_item = per_item or histogram.per_item_rates()
    interval = _interval(histogram, settings, settings.confidence)
    macro = _interval(per_item, settings, settings.confidence)
    together = _interval(
        histogram, settings, simultaneous_confidence(settings.confidence, compared)
    )
    return {
        "micro": rate(histogram),
        "low": interval.low if interval else None,
        "high": interval.high if interval else None,
        "macro": rate(per_item),
        "macro_low": macro.low if macro else None,
        "macro_high": macro.high if macro else None,
        "simultaneous_low": together.low if together else None,
        "simultaneous_high": together.high if together else None,
        "decision_low": korn_graubard_bound(histogram, settings.confidence, "lower"),
        "decision_high": korn_graubard_bound(histogram, settings.confidence, "upper"),
        "method": interval.method if interval else None,
        "design_effect": design_effect(histogram),
        "icc": intraclass_correlation(histogram),
        "detectable_difference": detectable_difference(histogram, confidence=settings.confidence),
    }


def _interval(histogram: Histogram, settings: Settings, confidence: float) -> Interval | None:
    """Return an interval. A far tail needs more resamples than the settings may ask for."""
    needed = ceil(_RESAMPLES_IN_TAIL / ((1 - confidence) / 2))
    return INTERVALS[settings.method](
        histogram,
        confidence=confidence,
        resamples=max(settings.resamples, min(needed, _MOST_RESAMPLES)),
        seed=settings.seed,
    )


def _bound(histogram: Histogram, unscored: int) -> tuple[float | None, float | None]:
    """Return the rate if all unscored units were misses, and if all were hits."""
    total = histogram.units + unscored
    if not total:
        return None, None
    return histogram.hits / total, (histogram.hits + unscored) / total


def _warnings(
    metric: Metric, histogram: Histogram, better: Better | None, counts: SliceCounts
) -> tuple[str, ...]:
    sides: dict[Better, Literal["numerator", "complement"]] = {
        "higher": "complement",
        "lower": "numerator",
    }
    found = list(warnings_for(histogram, bad=sides[better] if better else None))
    unscored = counts.asked - counts.scored
    if unscored and histogram.items:
        found.append(f"{unscored:,} unscored: the bounds say what they could change.")
    if not counts.says_asked and histogram.items:
        found.append("The metric does not say how many were asked: what is unscored is not known.")
    return tuple(found)


def _series_rank(metric: Metric, member: str | None) -> tuple[int, str]:
    """Order members as the metric's notes list them, then by name."""
    names = list(metric.notes)
    return (names.index(member) if member in names else len(names), member or "")


def _order_overall(metric: Metric, rows: Iterable[Estimate]) -> list[Estimate]:
    def rank(row: Estimate) -> tuple[int, str]:
        return _series_rank(metric, row.slice.get(metric.series or ""))

    return sorted(rows, key=rank)


def _badness(metric: Metric, row: Estimate) -> tuple[object, ...]:
    """Sort key: member of the series, then rows with a rate, worst first, then by slice."""
    member = row.slice.get(metric.series or "")
    worst = row.micro or 0.0
    if row.better is None:
        worst = 0.0  # nothing is worse than anything else: by name
    elif row.better == "lower":
        worst = -worst
    values = tuple((value is None, value or "") for value in row.slice.values())
    return (_series_rank(metric, member), row.micro is None, worst, values)
