"""Says why a rate moved between two runs: system, evidence, question mix, or judge.

`claimwise.comparison.decomposition` has the definitions and the arithmetic; here the store is asked
who was asked what, whose evidence moved between the corpora, and who judged.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from claimwise.calibration.basis import find_basis
from claimwise.calibration.headline import METRIC_OF
from claimwise.comparison.compare import (
    Bases,
    find_shared,
    labels_of,
    list_run_facts,
    note_corrected,
    refuse_run_columns,
)
from claimwise.comparison.decomposition import (
    BASE_ONLY,
    KEPT,
    MOVED,
    NEW_ONLY,
    MovementShare,
    Overlap,
    PairedCounts,
    Split,
    split_movement,
)
from claimwise.comparison.drift_values import Drift, DriftPart, SliceWeight
from claimwise.comparison.queries import (
    RunPair,
    find_linked_items,
    find_moved_evidence,
    has_documents,
)
from claimwise.errors import MetricError
from claimwise.metrics.catalogue import Metric, load_metrics
from claimwise.metrics.clusters import map_clusters
from claimwise.metrics.counting import ItemCounts, Narrowing, SliceKey
from claimwise.metrics.estimate import check_labeler, check_settings
from claimwise.metrics.judge_agreement import list_judges
from claimwise.metrics.pairing import PairedItems, find_strays, pair_items
from claimwise.metrics.run_judges import (
    JudgesChange,
    find_label_views,
    find_run_judges,
    read_overlap,
)
from claimwise.metrics.weights import ItemWeights, read_weights, scale_factors
from claimwise.store import Store
from claimwise.store.runs import count_asked
from claimwise.types.results import Settings, Weighting

_FEW_REJUDGED = 50  # claims; with fewer, the instrument's part is hardly known
_SYSTEM = ("system", "model", "prompt_ver", "retriever_ver")


@dataclass(frozen=True, kw_only=True, slots=True)
class _Facts:
    """What the store says of two runs, besides their rates."""

    runs: RunPair
    asked: tuple[Mapping[str, int], Mapping[str, int]]
    shared: set[str]
    moved: Mapping[str, Sequence[str]]
    # Shared items of which nobody knows what they rest on, while the corpora differ.
    unlinked: set[str]
    # Corpus versions without a stored document.
    unstored: tuple[str, ...]
    labels: Sequence[str | Narrowing]  # whose labels count in either run
    instruments: JudgesChange
    needs_labels: bool
    clusters: Mapping[str, str]  # what items belong to that are not independent
    corrected: Sequence[str]  # which runs' one rate is another than the one that is split
    # What items count for in the base and in the new run; None: all alike.
    weights: tuple[ItemWeights | None, ItemWeights | None] = (None, None)

    def find_factors(self, names: Sequence[str], side: int) -> NDArray[np.float64]:
        """Return what items count for in one of the runs."""
        weights = self.weights[side]
        if weights is None:
            return np.ones(len(names))
        return weights.list_factors(names)

    def count_judged(self) -> dict[str, int]:
        """Return how many verdicts of both runs each judge gave that counts."""
        found: dict[str, int] = {}
        for side in (self.instruments.base, self.instruments.new):
            for one, count in side.items():
                if one.labeler is not None:
                    found[one.labeler] = found.get(one.labeler, 0) + count
        return found

    @property
    def evidence_known(self) -> bool:
        return not self.unstored and len(self.unlinked) < len(self.shared)

    def find_group(self, item_id: str) -> int:
        if item_id not in self.shared:
            return BASE_ONLY if item_id in self.asked[0] else NEW_ONLY
        return MOVED if item_id in self.moved else KEPT

    def find_scale(self, item_id: str) -> float:
        if item_id not in self.shared:
            return 1.0
        return self.asked[0][item_id] / self.asked[1][item_id]


def explain_drift(
    store: Store,
    metric: Metric,
    runs: RunPair,
    by: Sequence[str] = (),
    settings: Settings | None = None,
    *,
    member: str | None = None,
) -> tuple[Drift, ...]:
    """Split the movement of a metric between two runs; one result per member of a series.

    Args:
        store: where the rows are.
        metric: what moved.
        runs: base and new.
        by: columns of items whose weights in both runs are shown beside the mix.
        settings: confidence, which labels decide, and what makes items alike.
        member: one member of the metric's series; None for all.

    Raises:
        MetricError: no item is shared, or one of the runs has nothing scored on shared items.
    """
    settings = settings or Settings()
    check_settings(settings)
    check_labeler(store, settings.labels)
    refuse_run_columns(by)
    base, new = (find_basis(store, load_metrics(), run_id, settings) for run_id in runs.ids)
    facts = _gather_facts(store, metric, runs, (base, new), settings)
    series = (metric.series,) if metric.series else ()
    rows = pair_items(store, metric, runs.ids, series, facts.labels)
    _refuse_strays(store, metric, rows.values())
    overlaps = _read_overlaps(store, metric, facts, series)
    found = [
        _explain(store, metric, key, paired, overlaps.get(key), facts, by, settings)
        for key, paired in sorted(rows.items())
        if member is None or key == (member,)
    ]
    measured = tuple(drift for drift in found if drift is not None)
    if not measured:
        raise MetricError(
            f"runs {runs.base.run_id!r} and {runs.new.run_id!r}: nothing is scored in both for "
            f"{member or metric.name} on the {len(facts.shared)} items they share; judge both runs "
            "with `claimwise verify`, or import labels"
        )
    return measured


def _refuse_strays(store: Store, metric: Metric, slices: Iterable[PairedItems]) -> None:
    """Refuse a metric that counts by something other than items: evidence and mix are items'.

    Raises:
        MetricError: it does; names one of what it counts by.
    """
    strays = find_strays(store, {name for one in slices for name in one.items})
    if strays:
        raise MetricError(
            f"drift can't explain {metric.name}: it counts by something other than items (such as "
            f"{min(strays)!r}), and evidence and mix are known by item; return item_id as "
            "cluster_id, or use `claimwise compare`"
        )


def _gather_facts(
    store: Store, metric: Metric, runs: RunPair, bases: Bases, settings: Settings
) -> _Facts:
    asked = count_asked(store, runs.base.run_id), count_asked(store, runs.new.run_id)
    shared = find_shared(runs, asked)
    moved = find_moved_evidence(store, runs)
    versions = dict.fromkeys(run.corpus_ver for run in runs)
    differ = len(versions) > 1
    return _Facts(
        runs=runs,
        asked=asked,
        shared=shared,
        moved={item: moved[item] for item in sorted(moved) if item in shared},
        unlinked=shared - find_linked_items(store, runs) if differ else set(),
        unstored=tuple(v for v in versions if not has_documents(store, v)) if differ else (),
        labels=labels_of(bases, metric),
        instruments=find_run_judges(store, metric, runs.ids, labels_of(bases, metric)),
        needs_labels=bool(find_label_views(metric)),
        corrected=note_corrected(runs, bases) if metric.name in METRIC_OF.values() else [],
        clusters=map_clusters(store, [run.run_id for run in reversed(runs)], settings.cluster),
        weights=(
            read_weights(store, runs.base.run_id, settings.weights),
            read_weights(store, runs.new.run_id, settings.weights),
        ),
    )


_Sides = tuple[dict[str, ItemCounts], dict[str, ItemCounts]]


def _read_overlaps(
    store: Store, metric: Metric, facts: _Facts, series: tuple[str, ...]
) -> dict[SliceKey, _Sides]:
    """Return what the old and the new instruments say of the same claims: by member and item."""
    if not facts.instruments.changed:
        return {}
    run_ids = [run.run_id for run in facts.runs]
    reading = read_overlap(store, metric, run_ids, facts.instruments, series)
    found: dict[SliceKey, _Sides] = {}
    for side, rows in enumerate(reading):
        for row in rows:
            of_side = found.setdefault(row.key, ({}, {}))[side]
            of_side[row.item_id] = _add(of_side.get(row.item_id), row)
    return found


def _add(known: ItemCounts | None, row: ItemCounts) -> ItemCounts:
    """Add up what both runs have of an item."""
    if known is None:
        return row
    return row._replace(
        numerator=known.numerator + row.numerator, denominator=known.denominator + row.denominator
    )


def _explain(
    store: Store,
    metric: Metric,
    key: SliceKey,
    paired: PairedItems,
    judged: _Sides | None,
    facts: _Facts,
    by: Sequence[str],
    settings: Settings,
) -> Drift | None:
    split, rejudged = _split(paired, judged, facts, settings)
    if split is None:
        return None
    unscored, weighting = paired.count_unscored(), _find_weighting(paired, facts)
    return Drift(
        metric=metric.name,
        title=metric.title,
        member=key[0] if metric.series else None,
        better=metric.better_for(key[0] if metric.series else None),
        base=list_run_facts(facts.runs.base),
        new=list_run_facts(facts.runs.new),
        settings=settings,
        base_rate=split.base,
        new_rate=split.new,
        change=split.whole.change,
        low=split.whole.low,
        high=split.whole.high,
        parts=tuple(_tell(piece, facts, rejudged, metric.unit) for piece in split.pieces),
        shared=len(facts.shared),
        only_base=tuple(sorted(set(facts.asked[0]) - facts.shared)),
        only_new=tuple(sorted(set(facts.asked[1]) - facts.shared)),
        moved_evidence={item: tuple(sources) for item, sources in facts.moved.items()},
        base_instruments={str(one): n for one, n in facts.instruments.base.items()},
        new_instruments={str(one): n for one, n in facts.instruments.new.items()},
        overlap=rejudged,
        base_unscored=unscored[0],
        new_unscored=unscored[1],
        weights=_weigh_slices(store, metric, key, facts, by),
        warnings=(
            *((f"{weighting.start_sentence()}.",) if weighting else ()),
            *_describe_missing(paired, facts),
            *_warn(facts, unscored, rejudged, metric.unit),
            *facts.corrected,
        ),
        advice=tuple(_advise(split.pieces, facts, rejudged, metric.unit)),
        judges=list_judges(store, facts.count_judged(), settings.confidence),
        weighting=weighting,
    )


def _find_weighting(paired: PairedItems, facts: _Facts) -> Weighting | None:
    """Return how the rates are weighted, of both runs that in which it costs more."""
    found = [
        weights.weigh({name: pair[side].denominator for name, pair in paired.items.items()})
        for side, weights in enumerate(facts.weights)
        if weights is not None
    ]
    return max(found, key=lambda one: one.design_effect, default=None)


def _describe_missing(paired: PairedItems, facts: _Facts) -> list[str]:
    """Name the groups of the traffic that one of the runs has no scored item of, each once."""
    found = [
        text
        for side, weights in enumerate(facts.weights)
        if weights is not None
        for text in weights.describe_missing(
            name for name, pair in paired.items.items() if pair[side].denominator
        )
    ]
    return list(dict.fromkeys(found))


def _split(
    paired: PairedItems, judged: _Sides | None, facts: _Facts, settings: Settings
) -> tuple[Split | None, int]:
    """Split the movement of a rate; say how many claims both instruments judged."""
    names = sorted({*paired.items, *(judged[0] if judged else ()), *(judged[1] if judged else ())})
    overlap = _align_overlap(names, judged, facts) if judged else None
    rejudged = sum(row.denominator for row in judged[0].values()) if judged else 0.0
    split = split_movement(
        _align(names, paired, facts),
        overlap,
        instrument_changed=facts.instruments.changed,
        evidence_known=facts.evidence_known,
        confidence=settings.confidence,
    )
    return split, round(rejudged)


def _align(names: Sequence[str], paired: PairedItems, facts: _Facts) -> PairedCounts:
    known = PairedItems(
        {name: paired.items.get(name) or list(_no_counts(name)) for name in names}
    ).columns()
    base, new = (
        scale_factors(facts.find_factors(names, side), known[1 + 2 * side]) for side in (0, 1)
    )
    # Shared items count in the new run for what they do in the base.
    ratio = np.divide(base, new, out=np.ones(len(names)), where=(base > 0) & (new > 0))
    return PairedCounts(
        base_hits=base * known[0],
        base_units=base * known[1],
        new_hits=new * known[2],
        new_units=new * known[3],
        group=np.array([facts.find_group(name) for name in names], dtype=np.int64),
        scale=ratio * np.array([facts.find_scale(name) for name in names]),
        cluster=np.unique([facts.clusters.get(name, name) for name in names], return_inverse=True)[
            1
        ].astype(np.int64),
    )


def _no_counts(name: str) -> tuple[ItemCounts, ItemCounts]:
    nothing = ItemCounts(name, (), 0.0, 0.0, 0, 0)
    return nothing, nothing


def _align_overlap(names: Sequence[str], judged: _Sides, facts: _Facts) -> Overlap:
    def take(side: int) -> NDArray[np.float64]:
        rows = [judged[side].get(name) or _no_counts(name)[0] for name in names]
        table = np.array([(row.numerator, row.denominator) for row in rows], dtype=np.float64).T
        found: NDArray[np.float64] = scale_factors(factors, table[1]) * table
        return found

    # An item that both runs were asked counts as in the base.
    asked = np.array([name in facts.asked[0] for name in names], dtype=bool)
    factors = np.where(asked, facts.find_factors(names, 0), facts.find_factors(names, 1))
    old, new = take(0), take(1)
    return Overlap(
        old_hits=old[0],
        old_units=old[1],
        new_hits=new[0],
        new_units=new[1],
        share=facts.instruments.share,
    )


def _tell(piece: MovementShare, facts: _Facts, rejudged: int, unit: str) -> DriftPart:
    """Return a piece with what it rests on in words."""
    changed, basis = True, ""
    if piece.causes == ("mix",):
        changed, basis = _describe_mix(facts)
    elif piece.causes == ("evidence",):
        changed, basis = _describe_evidence(facts)
    elif piece.causes == ("instrument",):
        changed, basis = _describe_instrument(facts, rejudged, unit)
    else:
        kept = len(facts.shared) - len(facts.moved)
        basis = f"{_count(kept, 'shared item')} whose evidence did not change"
        if "evidence" in piece.causes:
            basis = f"{_count(len(facts.shared), 'shared item')}"
        if len(piece.causes) > 1:
            basis += "; can't be told apart"
    return DriftPart(
        causes=piece.causes,
        change=piece.change,
        low=piece.low,
        high=piece.high,
        changed=changed,
        basis=basis,
    )


def _describe_mix(facts: _Facts) -> tuple[bool, str]:
    base, new = (len(set(asked) - facts.shared) for asked in facts.asked)
    repeated = sum(facts.find_scale(item) != 1 for item in facts.shared)
    if not base and not new and not repeated:
        return False, "both runs were asked the same items"
    told = f"{_count(base, 'item')} only in the baseline, {_count(new, 'item')} only in the new run"
    return True, f"{told}, {repeated} asked more or less often" if repeated else told


def _describe_evidence(facts: _Facts) -> tuple[bool, str]:
    if facts.runs.base.corpus_ver == facts.runs.new.corpus_ver:
        return False, f"both runs used corpus {facts.runs.base.corpus_ver}"
    if not facts.moved:
        return False, "what the shared items rest on is the same in both corpora"
    documents = {source for sources in facts.moved.values() for source in sources}
    return True, (
        f"{_count(len(facts.moved), 'shared item')} whose evidence changed "
        f"({_count(len(documents), 'document')}), compared with those whose evidence did not"
    )


def _describe_instrument(facts: _Facts, rejudged: int, unit: str) -> tuple[bool, str]:
    if not facts.needs_labels:
        return False, "the metric needs no labels"
    if not facts.instruments.changed:
        judges = ", ".join(map(str, facts.instruments.new))
        return False, f"{judges} in both runs" if judges else "nobody judged"
    judged = _count(rejudged, unit)
    return True, f"{judged} that both judged; other judges gave {facts.instruments.describe()}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _warn(facts: _Facts, unscored: tuple[int, int], rejudged: int, unit: str) -> Iterable[str]:
    runs, instruments = facts.runs, facts.instruments
    for version in facts.unstored:
        yield f"No document of corpus {version} is stored: whose evidence changed is not known."
    if facts.unlinked and not facts.unstored:
        yield (
            f"{_count(len(facts.unlinked), 'shared item')} with neither a gold span nor a recorded "
            "passage: whether their evidence changed is not known; they count as unchanged."
        )
    if facts.shared and len(facts.moved) == len(facts.shared):
        yield "The evidence of every shared item changed: system and evidence moved together."
    if instruments.changed and not rejudged:
        yield "No claim was judged by both judges: system and judge moved together."
    elif instruments.changed and rejudged < _FEW_REJUDGED:
        yield f"Only {_count(rejudged, unit)} judged by both judges: its part is hardly known."
    if instruments.changed and len(instruments.old_side) + len(instruments.new_side) > 2:
        yield "Several judges changed at once: their part is that of all of them together."
    if instruments.differ and not instruments.changed:
        yield (
            f"Others gave {instruments.share * 100:.3g}% of the labels: too few to count as a "
            "change of the judge."
        )
    if any(unscored):
        yield (
            f"Unscored: {unscored[0]:,} in the baseline, {unscored[1]:,} in the new run. No part "
            "counts them."
        )
    if all(getattr(runs.base, name) == getattr(runs.new, name) for name in _SYSTEM):
        yield (
            "Both runs name the same system, model, prompt and retriever: the system's part is "
            "chance, or a change that nobody recorded."
        )


def _advise(
    pieces: Sequence[MovementShare], facts: _Facts, rejudged: int, unit: str
) -> Iterable[str]:
    """Say which run, or which labels, would tell more."""
    runs, change = facts.runs, facts.instruments
    told = {cause: piece.causes for piece in pieces for cause in piece.causes}
    if len(told["evidence"]) > 1 or facts.moved:
        why = (
            "tells system and evidence apart"
            if len(told["evidence"]) > 1
            else "shows what the changed evidence did without assuming that the system moved all "
            "items alike"
        )
        yield (
            f"Run the system of {runs.base.run_id} on corpus {runs.new.corpus_ver}; drift from "
            f"{runs.base.run_id} to that run {why}."
        )
    for version in facts.unstored:
        yield f"Import the documents of corpus {version}: `claimwise import sources.jsonl`."
    if change.changed and rejudged < _FEW_REJUDGED:
        who = ", ".join(map(str, change.new_side))
        if all(one.labeler is None for one in change.new_side):
            yield (
                f"Let people label {_count(_FEW_REJUDGED, unit)} of {runs.base.run_id}, drawn at "
                "random."
            )
        else:
            yield (
                f"Re-judge {_count(_FEW_REJUDGED, unit)} or more of {runs.base.run_id}, drawn at "
                f"random, with {who}."
            )


def _weigh_slices(
    store: Store,
    metric: Metric,
    key: SliceKey,
    facts: _Facts,
    by: Sequence[str],
) -> tuple[SliceWeight, ...]:
    """Return each slice's share of the items in both runs, the most changed first."""
    if not by:
        return ()
    columns = (*((metric.series,) if metric.series else ()), *by)
    paired = pair_items(store, metric, facts.runs.ids, columns, facts.labels)
    slices = {
        found: items.count_items() for found, items in paired.items() if found[: len(key)] == key
    }
    totals = [sum(counts[side] for counts in slices.values()) for side in (0, 1)]
    weights = [
        SliceWeight(
            slice=dict(zip(by, found[len(key) :], strict=True)),
            base_share=counts[0] / totals[0],
            new_share=counts[1] / totals[1],
        )
        for found, counts in slices.items()
    ]
    return tuple(sorted(weights, key=lambda w: (-abs(w.new_share - w.base_share), str(w.slice))))
