"""Follows one figure of one system from day to day: baseline, spread, evidence of a change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from typing import NamedTuple

import numpy as np

from claimwise.monitoring.daily_rate import (
    BANDS,
    CALIBRATION_DAYS,
    estimate_day,
    predict_by_band,
)
from claimwise.monitoring.sequential import (
    BASELINE_DAYS,
    SPREAD_DAYS,
    Array,
    advance_by_day,
    advance_by_label,
    find_spread,
    start_state,
    weigh_state,
)
from claimwise.monitoring.values import (
    DAILY,
    LONG_AGO,
    MIX_TOLERATED,
    NEW_BASELINE,
    DayFigures,
    MonitorPoint,
    PointEvidence,
    Watched,
)

ENOUGH_LABELS = 10
"""A day with fewer says too little of its own: it has no value."""

_COMMON_KIND = 0.02  # share of inputs from which on a kind is watched


class Step(NamedTuple):
    """What a day adds to a stream."""

    value: float | None
    statistic: float | None
    evidence: PointEvidence


@dataclass(slots=True)
class History:
    """The points of one stream so far, and the marks that people set by closing its alarms."""

    points: list[MonitorPoint] = field(default_factory=list)
    marks: list[MonitorPoint] = field(default_factory=list)

    def add(self, point: MonitorPoint) -> None:
        """Take a point in: a mark or a value."""
        (self.marks if point.evidence.mark else self.points).append(point)

    @property
    def since(self) -> datetime:
        """From when on days count towards the baseline: the latest accepted change."""
        chosen = [
            one.evidence.since or one.window_from
            for one in self.marks
            if one.evidence.mark == NEW_BASELINE
        ]
        return max(chosen, default=LONG_AGO)

    @property
    def current(self) -> list[MonitorPoint]:
        """The points that have a value, since the latest accepted change."""
        return [p for p in self.points if p.value is not None and p.window_from >= self.since]

    @property
    def values(self) -> Array:
        """Their values."""
        return np.array([point.value for point in self.current], dtype=np.float64)

    def find_state(self) -> PointEvidence | None:
        """Return where the evidence stands; None before it begins, or after a closed alarm."""
        followed = [p for p in self.points if p.evidence.state or p.evidence.states]
        if not followed:
            return None
        latest = followed[-1]
        if any(mark.computed_at >= latest.computed_at for mark in self.marks):
            return None
        return latest.evidence

    def find_change(self) -> date | None:
        """Return the day on which the change that the evidence speaks of seems to have begun."""
        for point in reversed(self.points):
            if point.statistic is not None and point.statistic < 1:
                return point.window_until.date()
        return self.points[0].day if self.points else None


def follow_share(
    history: History, watched: Watched, value: float | None, answers: int, threshold: float
) -> Step:
    """Take a day's share into the evidence that it has changed.

    The first 28 days with a value are the baseline. A day without a value leaves the evidence as it
    is.
    """
    values = history.values
    before = history.find_state()
    if value is None or len(values) < BASELINE_DAYS:
        kept = before.state if before else []
        return Step(value, None, PointEvidence(state=kept, threshold=threshold))
    baseline = float(values[:BASELINE_DAYS].mean())
    spread = float(find_spread(values, _find_least(baseline, answers)))
    state = np.array(before.state) if before else start_state(watched.direction)
    state = advance_by_day(
        state, value, baseline, spread, direction=watched.direction, tolerated=watched.tolerated
    )
    evidence = PointEvidence(
        baseline=baseline, spread=spread, state=state.tolist(), threshold=threshold
    )
    return Step(value, float(weigh_state(state)), evidence)


def _find_least(share: float, count: int) -> float:
    """Return the least spread of a share of so many: figures that never varied still may."""
    return float(np.sqrt(max(share * (1 - share), 1 / max(count, 1)) / max(count, 1) / 4))


class DayRate(NamedTuple):
    """A day's rate of supported claims by its labels, and what single labels say."""

    value: float | None
    label_values: list[float]
    largest: float


def find_day_rate(history: History, figures: DayFigures, since: datetime) -> DayRate:
    """Return a day's rate, corrected by the day's labels; without enough of them there is none.

    Args:
        history: earlier days, whose labels say what to expect of the judge's scores.
        figures: the day.
        since: labels of days before this are of no use: the judge was another one.
    """
    known = [p for p in history.points if p.window_from >= since and p.evidence.label_counts]
    recent = [p.evidence for p in known[-CALIBRATION_DAYS:]]
    labels = np.sum([one.label_counts for one in recent], axis=0) if recent else np.zeros(BANDS)
    said = np.sum([one.supported_counts for one in recent], axis=0) if recent else np.zeros(BANDS)
    predictions = predict_by_band(labels, said)
    if figures.labels < ENOUGH_LABELS:
        return DayRate(None, [], 1.0)
    value = float(
        estimate_day(figures.sizes, figures.label_weights, figures.supported_weights, predictions)
    )
    predicted = float(figures.sizes @ predictions / figures.sizes.sum())
    mean = float(np.mean([stands for _, _, stands in figures.single_labels]))
    singles = [
        predicted + (says - float(predictions[band])) * stands / mean
        for band, says, stands in figures.single_labels
    ]
    most = max(stands for _, _, stands in figures.single_labels) / mean
    return DayRate(value, singles, predicted + (1 - float(predictions.min())) * most)


def follow_labels(history: History, rate: DayRate, threshold: float) -> Step:
    """Take a day's labels, one per answer, into the evidence; the promise holds exactly for them.

    The threshold is in days: it is multiplied by how many labels a baseline day has.
    """
    current = history.current
    before = history.find_state()
    if rate.value is None or len(current) < BASELINE_DAYS:
        return Step(rate.value, None, PointEvidence(state=before.state if before else []))
    first = current[:BASELINE_DAYS]
    baseline = float(np.mean([point.value for point in first]))
    labels_a_day = float(np.mean([point.evidence.labels for point in first]))
    state = np.array(before.state) if before else start_state()
    limit = baseline - DAILY["rate"].tolerated
    for value in rate.label_values:
        state = advance_by_label(state, value, limit, max(rate.largest, limit + 1e-6))
    evidence = PointEvidence(
        baseline=baseline, state=state.tolist(), threshold=threshold * max(1.0, labels_a_day)
    )
    return Step(rate.value, float(weigh_state(state)), evidence)


def follow_mix(history: History, figures: DayFigures, threshold: float) -> Step:
    """Take a day's mix of inputs into the evidence that it has changed.

    Every kind of input that is common in the baseline is a share of its own, which may rise or
    fall; the statistic is the mean over kinds, so that many of them make no more false alarms.
    """
    total = figures.weight or 1.0
    shares = {kind: weight / total for kind, weight in sorted(figures.inputs.items())}
    current = history.current
    before = history.find_state()
    if len(current) < BASELINE_DAYS or not figures.answers:
        kept = before.states if before else {}
        value = 0.0 if figures.answers else None
        return Step(value, None, PointEvidence(shares=shares, states=kept, threshold=threshold))
    baseline = average_shares([point.evidence.shares for point in current[:BASELINE_DAYS]])
    states = {}
    for kind, usual in baseline.items():
        past = np.array([p.evidence.shares.get(kind, 0.0) for p in current[-SPREAD_DAYS:]])
        spread = find_spread(past, _find_least(usual, figures.answers))
        state = np.array(before.states[kind]) if before and kind in before.states else None
        states[kind] = advance_by_day(
            start_state("both") if state is None else state, shares.get(kind, 0.0), usual,
            float(spread), direction="both", tolerated=MIX_TOLERATED,
        )  # fmt: skip
    statistic = float(np.mean([weigh_state(state) for state in states.values()])) if states else 0.0
    moved = max((abs(shares.get(kind, 0.0) - usual) for kind, usual in baseline.items()), default=0)
    evidence = PointEvidence(
        shares=shares,
        states={kind: state.tolist() for kind, state in states.items()},
        threshold=threshold,
    )
    return Step(float(moved), statistic, evidence)


def average_shares(days: Sequence[dict[str, float]]) -> dict[str, float]:
    """Return the mean shares of kinds of inputs over days; rare kinds are left out."""
    kinds = sorted({kind for day in days for kind in day})
    means = {kind: float(np.mean([day.get(kind, 0.0) for day in days])) for kind in kinds}
    return {kind: mean for kind, mean in means.items() if mean >= _COMMON_KIND}
