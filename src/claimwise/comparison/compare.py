"""Compares two runs: how far each rate moved over the items that both were asked.

Items are paired, claims are not (see `claimwise.metrics.paired`). An item that both were asked
and only one made claims about counts with the claims it has. Items that only one run was asked
are left out of every change, and listed.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import zip_longest
from math import isclose

import numpy as np
from numpy.typing import NDArray

from claimwise.calibration.basis import RunBasis, align_bases, find_basis
from claimwise.calibration.correction_text import describe_judged_parts
from claimwise.calibration.headline_change import find_headline_change
from claimwise.comparison.queries import (
    RunPair,
    read_actions,
    read_item_questions,
    read_judged_claims,
)
from claimwise.comparison.values import (
    Change,
    ComparedHeadline,
    Comparison,
    Direction,
    MetricChange,
    MovedItem,
    ShownClaim,
)
from claimwise.errors import MetricError
from claimwise.metrics.catalogue import Metric, load_metrics
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.counting import Narrowing, SliceKey, narrow_labels
from claimwise.metrics.estimate import check_labeler, check_settings
from claimwise.metrics.intervals import FEW_ITEMS, simultaneous_confidence
from claimwise.metrics.judge_agreement import list_judges
from claimwise.metrics.paired import compare_items, split_change
from claimwise.metrics.pairing import PairedItems, pair_items
from claimwise.metrics.run_judges import JudgesChange, find_label_views, find_run_judges
from claimwise.metrics.weights import ItemCounting, ItemWeights, describe_unweighted, read_weights
from claimwise.store import Store
from claimwise.store.runs import count_asked
from claimwise.types.results import Better, Settings, Weighting
from claimwise.types.rows import Item, Run

Bases = tuple[RunBasis, RunBasis]  # of the base and of the new run


def compare_runs(
    store: Store,
    metrics: Sequence[Metric],
    runs: RunPair,
    by: Sequence[str] = (),
    settings: Settings | None = None,
    *,
    most_moved: int = 10,
    version: str = "",
) -> Comparison:
    """Compare two runs by some metrics, overall and by slice, the worst change first.

    Raises:
        MetricError: a slice or a setting is unknown, no item is shared, or nothing was scored.
    """
    settings = settings or Settings()
    check_settings(settings)
    check_labeler(store, settings.labels)
    refuse_run_columns(by)
    asked = [count_asked(store, run.run_id) for run in runs]
    shared = find_shared(runs, asked)
    bases = find_bases(store, runs, settings)
    counting = ItemCounting(
        map_clusters(store, [run.run_id for run in reversed(runs)], settings.cluster),
        read_weights(store, runs.ids, settings.weights),
    )
    changes = tuple(
        _compare_metric(store, m, runs, by, settings, shared, bases, counting) for m in metrics
    )
    if not any(change.is_measured for change in changes):
        raise MetricError(
            f"runs {runs.base.run_id!r} and {runs.new.run_id!r}: nothing is scored in both for "
            f"{', '.join(metric.name for metric in metrics)}; judge both runs with `claimwise "
            "verify`, or import labels"
        )
    lead, moved = _find_moved(
        store, metrics, changes, runs, bases, shared, counting.weights, most_moved
    )
    instruments = {
        metric.title: find_run_judges(store, metric, runs.ids, labels_of(bases, metric))
        for metric, change in zip(metrics, changes, strict=True)
        if change.is_measured
    }
    return Comparison(
        base=list_run_facts(runs.base),
        new=list_run_facts(runs.new),
        store=store.place,
        version=version,
        by=tuple(by),
        settings=settings,
        metrics=changes,
        shared=len(shared),
        only_base=tuple(sorted(set(asked[0]) - shared)),
        only_new=tuple(sorted(set(asked[1]) - shared)),
        moved_metric=lead,
        moved=moved,
        warnings=(
            *(counting.weights.describe_missing(shared) if counting.weights else ()),
            *_find_warnings(runs, instruments, asked, shared),
            *note_corrected(runs, bases),
        ),
        headline=_compare_headlines(store, bases, settings),
        judges=list_judges(store, _count_judged(changes), settings.confidence),
    )


def note_corrected(runs: RunPair, bases: Bases) -> list[str]:
    """Say of which runs only the one rate is corrected by people's labels."""
    pairs = zip(runs.ids, bases, strict=True)
    notes = (describe_judged_parts(run_id, basis.headline) for run_id, basis in pairs)
    return [note for note in notes if note]


def _compare_headlines(store: Store, bases: Bases, settings: Settings) -> ComparedHeadline:
    return ComparedHeadline(
        base=bases[0].headlines[bases[1].headline.judgement],
        new=bases[1].headline,
        change=find_headline_change(store, load_metrics(), *bases, settings),
    )


def find_bases(store: Store, runs: RunPair, settings: Settings) -> Bases:
    """Return whose labels the rates of both runs count: the same, wherever there are any."""
    base, new = (find_basis(store, load_metrics(), run.run_id, settings) for run in runs)
    return align_bases(store, base, new)


def labels_of(bases: Bases, metric: Metric) -> list[str | Narrowing]:
    """Return whose labels a metric counts in either run."""
    return [basis.labels_for(metric) for basis in bases]


def _count_judged(changes: Sequence[MetricChange]) -> dict[str, int]:
    """Return how many verdicts of either run each judge gave for what was measured."""
    found: dict[str, int] = {}
    for change in changes:
        for given in (change.base_judges, change.new_judges) if change.is_measured else ():
            for judge, count in given.items():
                found[judge] = max(count, found.get(judge, 0))
    return found


def refuse_run_columns(by: Sequence[str]) -> None:
    """Refuse slices by what the runs differ in: their slices never meet.

    Raises:
        MetricError: a column belongs to runs.
    """
    own = [name for name in by if name in Run.__struct_fields__]
    if own:
        raise MetricError(
            f"{own[0]!r} is a column of runs; group by columns of items instead: "
            f"{', '.join(Item.__struct_fields__[2:])} or an attribute"
        )


def find_shared(runs: RunPair, asked: Sequence[Mapping[str, int]]) -> set[str]:
    """Return the items that both runs were asked.

    Raises:
        MetricError: there are none.
    """
    shared = set(asked[0]) & set(asked[1])
    if not shared:
        raise MetricError(
            f"runs {runs.base.run_id!r} and {runs.new.run_id!r} have no item in common (of "
            f"{len(asked[0])} and {len(asked[1])}), so they can't be compared"
        )
    return shared


def list_run_facts(run: Run) -> dict[str, str | None]:
    """Return what a run says of itself, as text."""
    values = {name: getattr(run, name) for name in Run.__struct_fields__}
    return {name: None if value is None else str(value) for name, value in values.items()}


def _compare_metric(
    store: Store,
    metric: Metric,
    runs: RunPair,
    by: Sequence[str],
    settings: Settings,
    shared: set[str],
    bases: Bases,
    counting: ItemCounting,
) -> MetricChange:
    series = (metric.series,) if metric.series else ()
    by = tuple(name for name in dict.fromkeys(by) if name not in series)
    tables = []
    for columns in dict.fromkeys([series, (*series, *by)]):
        slices = pair_items(store, metric, runs.ids, columns, labels_of(bases, metric), shared)
        fitting, notes = _fit_counting(metric, counting, slices.values())
        compared = len({key[len(series) :] for key in slices}) or 1
        rows = [
            _compare_slice(metric, columns, key, paired, compared, settings, fitting, notes)
            for key, paired in slices.items()
        ]
        # Members of a series are different rates, and stand together.
        tables.append(sorted(rows, key=lambda row: (*_member(row, series), *_rank(row))))
    return MetricChange(
        metric=metric.name,
        title=metric.title,
        meaning=metric.meaning,
        unit=metric.unit,
        series=metric.series,
        by=by,
        overall=tuple(tables[0]),
        slices=tuple(tables[1]) if by else (),
        base_judges=_list_judges(bases[0], metric),
        new_judges=_list_judges(bases[1], metric),
    )


def _fit_counting(
    metric: Metric, counting: ItemCounting, slices: Iterable[PairedItems]
) -> tuple[ItemCounting, tuple[str, ...]]:
    """Return it without weights, and say so, where a metric counts by something but items."""
    weights = counting.weights
    if weights is None or weights.knows(name for one in slices for name in one.items):
        return counting, ()
    return counting._replace(weights=None), (describe_unweighted(metric),)


def _list_judges(basis: RunBasis, metric: Metric) -> dict[str, int]:
    given = basis.list_givers(metric)
    return {one.labeler: count for one, count in given.items() if one.labeler is not None}


def _compare_slice(
    metric: Metric,
    columns: Sequence[str],
    key: SliceKey,
    paired: PairedItems,
    compared: int,
    settings: Settings,
    counting: ItemCounting,
    notes: tuple[str, ...],
) -> Change:
    counts, weighed = paired.columns(), paired.columns(None, counting.weights)
    better = metric.better_for(key[0] if metric.series else None)
    found = compare_items(*paired.columns(*counting))
    together = simultaneous_confidence(settings.confidence, compared)
    low, high = found.interval(settings.confidence) if found else (None, None)
    least, most = found.interval(together) if found else (None, None)
    unscored = paired.count_unscored()
    bound_low, bound_high = _bound(weighed, paired.weigh_unscored(counting.weights))
    rates = [_rate(*side) for side in (weighed[:2], weighed[2:])]
    is_whole = len(columns) == bool(metric.series)
    weighting = _find_weighting(paired, counting.weights, is_whole=is_whole)
    return Change(
        slice=dict(zip(columns, key, strict=True)),
        better=better,
        base=rates[0],
        new=rates[1],
        change=found.change if found else None,
        low=low,
        high=high,
        simultaneous_low=least,
        simultaneous_high=most,
        bound_low=bound_low,
        bound_high=bound_high,
        direction=_read_direction(least, most, better),
        items=int(np.count_nonzero((counts[1] > 0) | (counts[3] > 0))),
        base_claims=round(counts[1].sum()),
        new_claims=round(counts[3].sum()),
        base_unscored=unscored[0],
        new_unscored=unscored[1],
        warnings=(
            *notes,
            *_describe_weighting(paired, counting.weights, weighting, is_whole=is_whole),
            *_warn(counts, found is not None and found.error > found.measured),
        ),
        weighting=weighting,
    )


def _find_weighting(
    paired: PairedItems, weights: ItemWeights | None, *, is_whole: bool
) -> Weighting | None:
    """Return how a row is weighted; None for a slice in which all items count alike."""
    found = paired.weigh(weights) if weights else None
    return None if found and not is_whole and isclose(found.design_effect, 1.0) else found


def _describe_weighting(
    paired: PairedItems, weights: ItemWeights | None, weighting: Weighting | None, *, is_whole: bool
) -> Iterable[str]:
    """Say by what a row is weighted; of the whole also what of the traffic it says nothing of."""
    if weights is None or weighting is None:
        return
    if not is_whole:
        yield f"Weighted by {weighting.column}."  # one footnote for all slices
        return
    yield f"{weighting.start_sentence()}."
    scored = [name for name, pair in paired.items.items() if any(one.denominator for one in pair)]
    unseen = weights.describe_missing(weights.asked)  # a warning of the whole comparison
    yield from (text for text in weights.describe_missing(scored) if text not in unseen)


def _rate(hits: NDArray[np.float64], units: NDArray[np.float64]) -> float | None:
    return float(hits.sum() / units.sum()) if units.sum() else None


def _bound(
    counts: NDArray[np.float64], unscored: tuple[float, float]
) -> tuple[float | None, float | None]:
    """Return how far the rate moved if all unscored spoke against the new run, or all for it."""
    hits, units = counts[[0, 2]].sum(axis=1), counts[[1, 3]].sum(axis=1) + unscored
    if not units.all():
        return None, None
    low, high = hits / units, (hits + unscored) / units
    return float(low[1] - high[0]), float(high[1] - low[0])


def _read_direction(low: float | None, high: float | None, better: Better | None) -> Direction:
    if low is None or high is None or low <= 0 <= high:
        return "unclear"
    if better is None:
        return "changed"
    return "better" if (low > 0) == (better == "higher") else "worse"


def _warn(counts: NDArray[np.float64], assumed: bool) -> Iterable[str]:
    items = int(np.count_nonzero((counts[1] > 0) | (counts[3] > 0)))
    if 0 < items < FEW_ITEMS:
        yield f"Fewer than {FEW_ITEMS} items ({items}): the range is rough."
    if assumed:
        yield "Fewer than 10 items show how changes vary: their spread is partly assumed."


def _member(row: Change, series: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row.slice[name] or "" for name in series)


def _rank(row: Change) -> tuple[object, ...]:
    """Sort key: rows with a change, the worst first, then by slice."""
    worst = row.change or 0.0
    if row.better is None:
        worst = -abs(worst)
    elif row.better == "lower":
        worst = -worst
    values = tuple((value is None, value or "") for value in row.slice.values())
    return row.change is None, worst, values


def _find_moved(
    store: Store,
    metrics: Sequence[Metric],
    changes: Sequence[MetricChange],
    runs: RunPair,
    bases: Bases,
    shared: set[str],
    weights: ItemWeights | None,
    most: int,
) -> tuple[str | None, tuple[MovedItem, ...]]:
    """Return the items that moved the first metric with a rate most, and its name."""
    metric, row = next(
        (metric, row)
        for metric, change in zip(metrics, changes, strict=True)
        for row in change.overall
        if row.change is not None
    )
    series = (metric.series,) if metric.series else ()
    key = tuple(row.slice.values())
    labels = labels_of(bases, metric)
    paired = pair_items(store, metric, runs.ids, series, labels, shared)[key]
    names, counts = sorted(paired.items), paired.columns()
    known = weights if weights and weights.knows(names) else None
    parts = split_change(*paired.columns(None, known))
    one_sided = (counts[1] > 0) != (counts[3] > 0)
    differs = one_sided | (counts[0] * counts[3] != counts[2] * counts[1])
    order = sorted(
        (n for n in range(len(names)) if differs[n]),
        key=lambda n: (-abs(parts[n]), names[n]),
    )[:most]
    closed_book = find_label_views(metric) == ["deciding_closed_book_labels"]
    questions = read_item_questions(store, [names[n] for n in order])
    moved = tuple(
        _show_item(
            names[n],
            questions[names[n]],
            float(parts[n]),
            counts[:, n],
            _read_sides(store, runs, labels, names[n], closed_book=closed_book),
            [_show_action(store, run, names[n]) for run in runs],
        )
        for n in order
    )
    return key[0] if series else metric.name, moved


_Side = dict[str, ShownClaim]


def _read_sides(
    store: Store,
    runs: RunPair,
    labels: Sequence[str | Narrowing],
    item_id: str,
    *,
    closed_book: bool,
) -> list[_Side]:
    """Return the claims of an item in both runs, by their ids."""
    return [
        {
            row[0]: _show_claim(row, closed_book=closed_book)
            for row in read_judged_claims(store, run_id, item_id, narrow_labels(policy))
            if row[2] != "non_factual"
        }
        for run_id, policy in zip(runs.ids, labels, strict=True)
    ]


def _show_item(
    item_id: str,
    question: str,
    contribution: float,
    counts: NDArray[np.float64],
    sides: Sequence[_Side],
    actions: Sequence[str | None],
) -> MovedItem:
    return MovedItem(
        item_id=item_id,
        question=question,
        contribution=contribution,
        base_hits=float(counts[0]),
        base_units=float(counts[1]),
        new_hits=float(counts[2]),
        new_units=float(counts[3]),
        base_action=actions[0],
        new_action=actions[1],
        claims=tuple(_put_side_by_side(*sides)),
    )


def _put_side_by_side(
    base: _Side, new: _Side
) -> Iterable[tuple[ShownClaim | None, ShownClaim | None]]:
    """Yield claims that both runs made in one row, then the others as they come."""
    for key in base:
        if key in new:
            yield base[key], new[key]
    yield from zip_longest(
        (claim for key, claim in base.items() if key not in new),
        (claim for key, claim in new.items() if key not in base),
    )


def _show_claim(row: Sequence[str | None], *, closed_book: bool) -> ShownClaim:
    _, text, _, verdict, fact, span, source_id, labeler, fact_labeler, reason = row
    told = fact if closed_book else verdict
    return ShownClaim(
        text=text or "",
        verdict=told,
        span=None if closed_book else span,
        source_id=None if closed_book else source_id,
        labeler=fact_labeler if closed_book else labeler,
        reason=None if told else reason or "no label",
    )


def _show_action(store: Store, run: Run, item_id: str) -> str | None:
    found = [
        f"failed: {failure}" if failure else action or "no action recorded"
        for _, action, failure in read_actions(store, run.run_id, item_id)
    ]
    if set(found) <= {"answer"}:
        return None
    return ", ".join(found)


def _find_warnings(
    runs: RunPair,
    instruments: Mapping[str, JudgesChange],
    asked: Sequence[Mapping[str, int]],
    shared: set[str],
) -> Iterable[str]:
    names = shlex.join([runs.base.run_id, runs.new.run_id])
    split = f"`claimwise drift {names}` tells them apart"
    if runs.base.corpus_ver != runs.new.corpus_ver:
        yield (
            f"The runs used different corpora ({runs.base.corpus_ver}, {runs.new.corpus_ver}), so "
            f"a change may come from the evidence, not the system; {split}."
        )
    titles: dict[str, list[str]] = {}
    for title, change in instruments.items():
        if change.changed:
            titles.setdefault(change.describe(), []).append(title.lower())
    for told, concerned in titles.items():
        yield (
            f"The runs have different judges ({told}: {', '.join(concerned)}), so a change may "
            f"come from the judge, not the system; {split}."
        )
    repeated = sum(asked[0][item] != asked[1][item] for item in shared)
    if repeated:
        yield (
            f"Shared items that were asked more often in one of the runs: {repeated}. They weigh "
            "more there."
        )
