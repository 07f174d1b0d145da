"""Plans an evaluation: how many items show a given drop, and what the items at hand can show.

Method: a drop of d from p to p' = p - d is seen with the power

    T(d / sqrt(V) - t_confidence)
    V = D / (b n) * [p (1 - p) + p' (1 - p')] * (1 - r)

for n items in either run of b claims each, with design effect D, and r the correlation of two
runs on the same items (0 for runs on different items). T is Student's distribution with n - 1
degrees of freedom when paired and 2 (n - 1) when not; two-sided, as the intervals of a comparison
are. Both rates enter: near 0 or 1 the spread after the drop is the larger one. V is known as well
as the items at hand show it: the power is averaged over what it may be (`plan_doubt`). Assumes that
more items are like those at hand. Below ten items with a bad outcome the design effect is partly
`PLANNING_ICC`'s.

Reference: Cohen (1988), Statistical Power Analysis, chapter 6; Donner & Klar (2000), Design and
Analysis of Cluster Randomization Trials, chapter 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

import numpy as np
from scipy import special

from claimwise.calibration.basis import find_basis
from claimwise.comparison.compare import refuse_run_columns
from claimwise.comparison.plan_doubt import CERTAIN, Floats, doubt_paired_spread, doubt_spread
from claimwise.comparison.plan_values import Plan, PlanRow
from claimwise.errors import MetricError
from claimwise.metrics.catalogue import Metric, load_metrics
from claimwise.metrics.counting import SliceKey, count_items
from claimwise.metrics.estimate import check_confidence, check_labeler
from claimwise.metrics.histogram import Histogram
from claimwise.metrics.intervals import (
    FEW_ITEMS,
    PLANNING_ICC,
    UNSEEN_ICC,
    effective_size,
    intraclass_correlation,
    planning_weight,
    simultaneous_confidence,
)
from claimwise.metrics.paired import PLANNING_CORRELATION, correlate_runs
from claimwise.metrics.pairing import PairedItems, pair_items
from claimwise.metrics.weights import ItemWeights, read_weights, weigh_items
from claimwise.report.format import show_percent
from claimwise.store import Store
from claimwise.types.results import Better, Settings, Weighting
from claimwise.types.rows import Run

PLANNING_RATE: Final = 0.9
"""Share of good claims assumed where nothing was measured."""
PLANNING_CLAIMS: Final = 5.0
"""Claims per item assumed where nothing was measured."""
_MOST_ITEMS: Final = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Goal:
    """What is to be seen, how surely, and with what confidence."""

    drop: float = 0.05
    power: float = 0.8
    confidence: float = 0.95


@dataclass(frozen=True, kw_only=True, slots=True)
class Outlook:
    """What is known, or assumed, of a slice's items."""

    rate: float
    worse: float  # -1 when a drop makes the rate smaller, 1 when larger
    claims: float
    effect: float
    correlation: float
    # What the true spread may be, as multiples of what these figures say.
    doubt: Floats = field(default_factory=lambda: CERTAIN)
    paired_doubt: Floats = field(default_factory=lambda: CERTAIN)

    def spread(self, drop: float, *, paired: bool) -> Floats | None:
        """Return what the variance of such a change may be, times items; None without room."""
        after = self.rate + self.worse * drop
        if not 0 <= after <= 1:
            return None
        both = self.rate * (1 - self.rate) + after * (1 - after)
        shown = both * self.effect / self.claims * (1 - (self.correlation if paired else 0.0))
        return shown * (self.paired_doubt if paired else self.doubt)


class Pilot(NamedTuple):
    """The items of a slice that a plan learns from, and how alike two runs are on them."""

    histogram: Histogram
    correlation: float | None = None
    paired: Floats | None = None  # hits and units of both runs, where there are enough
    # Claims per item, where items are weighed: units are what they are worth then, and fewer.
    claims: float | None = None
    weighting: Weighting | None = None
    missing: tuple[str, ...] = ()  # groups of the traffic that no scored item is of


def plan_items(
    store: Store,
    metric: Metric,
    runs: Sequence[Run],
    by: Sequence[str] = (),
    settings: Settings | None = None,
    goal: Goal | None = None,
) -> Plan:
    """Plan a metric, overall and by slice, from what a project has measured so far.

    Args:
        store: where the rows are.
        metric: what is to be watched.
        runs: none, the run to plan from, or two: the second shows how alike runs are.
        by: slice columns of items.
        settings: which labels decide.
        goal: what is to be seen; its confidence is that of the comparison.

    Raises:
        MetricError: a slice is unknown, or the goal makes no sense.
    """
    settings, goal = settings or Settings(), goal or Goal()
    check_goal(goal)
    check_labeler(store, settings.labels)
    refuse_run_columns(by)
    series = (metric.series,) if metric.series else ()
    by = tuple(name for name in dict.fromkeys(by) if name not in series)
    measured = [_measure(store, metric, runs, (*series, *c), settings) for c in ((), by)]
    slices = measured[1] if by else {}
    compared = len({key[len(series) :] for key in slices}) or 1
    together = simultaneous_confidence(goal.confidence, compared)
    whole = {key: found for key, found in measured[0].items() if found.histogram.items}
    if not whole:
        whole = {() if not series else (None,): Pilot(Histogram.from_pairs([]))}
    return Plan(
        metric=metric.name,
        title=metric.title,
        unit=metric.unit,
        series=metric.series,
        run_id=runs[0].run_id if runs else None,
        base_id=runs[1].run_id if len(runs) > 1 else None,
        by=by,
        drop=goal.drop,
        power=goal.power,
        confidence=goal.confidence,
        slice_confidence=together,
        overall=tuple(
            _plan_row(metric, series, key, found, None, goal, goal.confidence)
            for key, found in whole.items()
        ),
        slices=tuple(
            sorted(
                (
                    _plan_row(metric, (*series, *by), key, found, _whole_of(whole, key, series),
                              goal, together)
                    for key, found in slices.items()
                ),
                key=_rank,
            )
        ),
        warnings=tuple(_warn(runs, measured[0])),
        weighting=_find_weighting(measured[0]),
    )  # fmt: skip


def _find_weighting(whole: _Measured) -> Weighting | None:
    """Return how rates over the whole set are weighted, that which costs most."""
    found = [one.weighting for one in whole.values() if one.weighting is not None]
    return max(found, key=lambda one: one.design_effect, default=None)


def check_goal(goal: Goal) -> None:
    """Refuse a goal that nothing can reach.

    Raises:
        MetricError: drop, power or confidence is no share that makes sense.
    """
    if not 0 < goal.drop < 1:
        raise MetricError(f"drop must be between 0 and 1, such as 0.05, not {goal.drop}")
    if not 0.5 <= goal.power < 1:
        raise MetricError(f"power must be at least 0.5 and below 1, not {goal.power}")
    check_confidence(goal.confidence)


_Measured = dict[SliceKey, Pilot]


def _measure(
    store: Store, metric: Metric, runs: Sequence[Run], columns: Sequence[str], settings: Settings
) -> _Measured:
    """Return the items of every slice of the first run, and how alike the runs are on them."""
    if not runs:
        return {}
    bases = [find_basis(store, load_metrics(), run.run_id, settings) for run in runs]
    labels = [basis.labels_for(metric) for basis in bases]
    run_id = runs[0].run_id
    counted = count_items(store, metric, run_id, columns, labels[0], settings.cluster)
    weights = read_weights(store, run_id, settings.weights)
    weighed = (
        weigh_items(store, metric, run_id, columns, weights, settings, labels[0])
        if weights is not None
        else {}
    )
    paired: dict[SliceKey, PairedItems] = {}
    if len(runs) > 1:
        ids = runs[1].run_id, runs[0].run_id
        paired = pair_items(store, metric, ids, columns, (labels[1], labels[0]))
    found = {}
    for key, one in counted.items():
        histogram = one.histogram()
        if key not in weighed or not histogram.items:
            found[key] = _learn(histogram, paired.get(key))
            continue
        pilot = _learn(weighed[key].histogram, paired.get(key), weights)
        found[key] = pilot._replace(
            claims=histogram.units / histogram.items,
            weighting=weighed[key].weighting,
            missing=weighed[key].warnings,
        )
    return found


def _learn(
    histogram: Histogram, paired: PairedItems | None, weights: ItemWeights | None = None
) -> Pilot:
    """Return a pilot, with the correlation of two runs where enough items have claims in both."""
    if paired is None:
        return Pilot(histogram)
    counts = paired.columns(None, weights)
    both = counts[:, (counts[1] > 0) & (counts[3] > 0)]
    found = correlate_runs(*both) if both.shape[1] >= FEW_ITEMS else None
    if found is None:
        return Pilot(histogram)
    return Pilot(histogram, float(np.clip(found, 0.0, 0.95)), both)


def _whole_of(whole: _Measured, key: SliceKey, series: Sequence[str]) -> float | None:
    found = whole.get(key[: len(series)])
    return found.correlation if found else None


def _plan_row(
    metric: Metric,
    columns: Sequence[str],
    key: SliceKey,
    pilot: Pilot,
    of_whole: float | None,
    goal: Goal,
    confidence: float,
) -> PlanRow:
    better, histogram = metric.better_for(key[0] if metric.series else None), pilot.histogram
    outlook, assumed = _look_out(pilot, better, of_whole)
    paired, unpaired = (
        _find_items(outlook, goal, confidence, paired=flag) for flag in (True, False)
    )
    sees = [
        _find_drop(outlook, histogram.items, goal.power, confidence, paired=flag)
        for flag in (True, False)
    ]
    return PlanRow(
        slice=dict(zip(columns, key, strict=True)),
        better=better,
        rate=histogram.hits / histogram.units if histogram.items else outlook.rate,
        claims_per_item=outlook.claims,
        icc=intraclass_correlation(histogram) if histogram.items else PLANNING_ICC,
        design_effect=outlook.effect,
        correlation=outlook.correlation,
        items=histogram.items,
        paired_items=paired,
        paired_labels=_count_labels(paired, outlook),
        unpaired_items=unpaired,
        unpaired_labels=_count_labels(unpaired, outlook),
        sees_paired=sees[0],
        sees_unpaired=sees[1],
        assumed=assumed,
    )


def _count_labels(items: int | None, outlook: Outlook) -> int | None:
    return None if items is None else math.ceil(items * outlook.claims)


def _look_out(
    pilot: Pilot, better: Better | None, of_whole: float | None
) -> tuple[Outlook, tuple[str, ...]]:
    """Return what is known of a slice, and in words what of it is assumed."""
    histogram, correlation = pilot.histogram, pilot.correlation
    assumed = []
    worse = 1.0 if better == "lower" else -1.0
    if not histogram.items:
        rate = PLANNING_RATE if worse < 0 else 1 - PLANNING_RATE
        claims = PLANNING_CLAIMS
        effect = 1 + (claims - 1) * PLANNING_ICC
        assumed.append(
            f"rate {show_percent(rate)}, {claims:g} claims per item, ICC {PLANNING_ICC:g}"
        )
    else:
        size = effective_size(histogram)
        claims = pilot.claims or histogram.units / histogram.items
        effect = claims * histogram.items / size
        # Pulled towards one half as Wilson does: a rate of 0 or 1 has a spread too.
        rate = (histogram.hits / histogram.units * size + 2) / (size + 4)
        weight = planning_weight(histogram)
        if weight:
            icc = UNSEEN_ICC if weight == 1 else PLANNING_ICC
            assumed.append(f"ICC (in part: {icc:g} with weight {weight:.1f})")
    if correlation is None and of_whole is not None:
        correlation = of_whole
        assumed.append(f"correlation of runs ({of_whole:.2f}, that of all items)")
    if correlation is None:
        correlation = PLANNING_CORRELATION
        assumed.append(f"correlation of runs ({PLANNING_CORRELATION:g})")
    doubt = doubt_spread(histogram)
    outlook = Outlook(
        rate=rate,
        worse=worse,
        claims=claims,
        effect=effect,
        correlation=correlation,
        doubt=doubt,
        paired_doubt=doubt
        if pilot.paired is None
        else doubt_paired_spread(histogram, pilot.paired),
    )
    return outlook, tuple(assumed)


def _expect_power(
    drop: float, items: int, spread: Floats, confidence: float, *, paired: bool
) -> float:
    """Return the chance of seeing a drop, averaged over what the spread may be."""
    freedom = (items - 1) * (1 if paired else 2)
    quantile = special.stdtrit(freedom, (1 + confidence) / 2)
    return float(special.stdtr(freedom, drop * np.sqrt(items / spread) - quantile).mean())


def _find_items(outlook: Outlook, goal: Goal, confidence: float, *, paired: bool) -> int | None:
    """Return the smallest number of items that shows the drop."""
    spread = outlook.spread(goal.drop, paired=paired)
    if spread is None:
        return None

    def shows(items: int) -> bool:
        return _expect_power(goal.drop, items, spread, confidence, paired=paired) >= goal.power

    found = _bisect(shows, 2, _MOST_ITEMS)
    return found if shows(found) else None


def _bisect(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the least number from which on something holds, or the highest."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low


def _find_drop(
    outlook: Outlook, items: int, power: float, confidence: float, *, paired: bool
) -> float | None:
    """Return the smallest drop that so many items show, to a thousandth; None when none does."""
    if items < 2:
        return None

    def shows(thousandths: int) -> bool:
        drop = thousandths / 1000
        spread = outlook.spread(drop, paired=paired)
        if spread is None:
            return True
        return _expect_power(drop, items, spread, confidence, paired=paired) >= power

    found = _bisect(shows, 1, 1000)
    return None if outlook.spread(found / 1000, paired=paired) is None else found / 1000


def _rank(row: PlanRow) -> tuple[object, ...]:
    """Sort key: the slice that needs most items beyond those it has first."""
    missing = _MOST_ITEMS if row.paired_items is None else row.paired_items - row.items
    values = tuple((value is None, value or "") for value in row.slice.values())
    return -missing, values


def _warn(runs: Sequence[Run], measured: _Measured) -> list[str]:
    if not runs:
        return ["No run is stored: every figure is assumed."]
    found = []
    weighting = _find_weighting(measured)
    if weighting is not None:
        found.append(f"{weighting.start_sentence()}, which the design effects below include.")
    found += dict.fromkeys(text for pilot in measured.values() for text in pilot.missing)
    if not any(pilot.histogram.items for pilot in measured.values()):
        found.append(f"Run {runs[0].run_id} has nothing scored: every figure is assumed.")
    if len(runs) < 2:
        found.append(
            f"Only one run: how alike two runs are on an item is assumed ({PLANNING_CORRELATION})."
        )
    return found
