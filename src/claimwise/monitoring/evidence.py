"""Gathers what an alarm rests on: since when, which versions and groups, what the judge does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import numpy as np

from claimwise.monitoring.queries import to_start
from claimwise.monitoring.sequential import BASELINE_DAYS, Array
from claimwise.monitoring.streams import History, Step, average_shares
from claimwise.monitoring.values import (
    DAILY,
    MIX_TOLERATED,
    VOLUME,
    WHOLE,
    Alarm,
    AlarmEvidence,
    DayFigures,
    MonitorPoint,
)

Histories = Mapping[tuple[str, str], History]

_MOST_MOVED = 5
_MOST_RUNS = 28
_FRESH = timedelta(days=21)  # anchors that were judged longer ago say nothing of today's judge


def gather_evidence(
    histories: Histories, signal: str, group: str, step: Step, figures: DayFigures
) -> AlarmEvidence:
    """Return what a day's alarm rests on; the day itself is not among the histories yet."""
    history = histories[signal, group]
    since = history.find_change()
    volume = histories.get((VOLUME, WHOLE), History()).points
    before = [p for p in volume if since is None or p.day < since]
    after = [p for p in volume if since is not None and p.day >= since]
    runs = list(figures.runs) + [run for p in reversed(after) for run in p.evidence.runs]
    evidence = AlarmEvidence(
        value=_average_since(history, since, step.value),
        baseline=step.evidence.baseline,
        spread=step.evidence.spread,
        tolerated=DAILY[signal].tolerated if signal in DAILY else MIX_TOLERATED,
        statistic=step.statistic,
        threshold=step.evidence.threshold,
        since=since,
        basis="judge only" if signal == "judge_rate" else step.evidence.basis,
        answers=figures.answers,
        claims=figures.claims,
        labels=figures.labels,
        reasons=dict(figures.reasons.most_common(5)),
        versions_before=_list_versions(before[-BASELINE_DAYS:]),
        versions_since=_list_versions(after) or list(figures.versions),
        judge=figures.judge,
        runs=list(dict.fromkeys(runs))[:_MOST_RUNS],
    )
    if signal == "input_mix":
        evidence.moved = _compare_mix(history, step, since)
    return evidence


def _average_since(history: History, since: date | None, today: float | None) -> float | None:
    """Return the mean value from the change on, today included: one day alone is mostly luck."""
    values = [p.value for p in history.current if since and p.day >= since and p.value is not None]
    values += [] if today is None else [today]
    return float(np.mean(values)) if values else None


def _list_versions(points: Sequence[MonitorPoint]) -> list[str]:
    return list(dict.fromkeys(name for point in points for name in point.evidence.versions))


def find_moved(
    histories: Histories, signal: str, since: date | None
) -> dict[str, tuple[float, float]]:
    """Return the groups that fell most since a change began: their rates before and since."""
    changes = {}
    for (name, group), history in histories.items():
        if name != signal or not group or since is None:
            continue
        before, after = _split(history.current, since)
        if len(before) and len(after):
            changes[group] = (float(before.mean()), float(after.mean()))
    worst = sorted(changes, key=lambda group: changes[group][1] - changes[group][0])
    return {group: changes[group] for group in worst[:_MOST_MOVED]}


def _split(points: Sequence[MonitorPoint], since: date) -> tuple[Array, Array]:
    start = to_start(since)
    before = np.array([p.value for p in points if p.window_from < start], dtype=np.float64)
    after = np.array([p.value for p in points if p.window_from >= start], dtype=np.float64)
    return before[-BASELINE_DAYS:], after


def _compare_mix(
    history: History, step: Step, since: date | None
) -> dict[str, tuple[float, float]]:
    """Return the kinds of inputs that moved most: their shares in the baseline and since."""
    current = history.current
    usual = average_shares([p.evidence.shares for p in current[:BASELINE_DAYS]])
    days = [p.evidence.shares for p in current if since and p.day >= since] + [step.evidence.shares]
    lately = {kind: float(np.mean([day.get(kind, 0.0) for day in days])) for kind in usual}
    most = sorted(usual, key=lambda kind: -abs(lately[kind] - usual[kind]))
    return {kind: (usual[kind], lately[kind]) for kind in most[:_MOST_MOVED]}


def add_judge_evidence(
    evidence: AlarmEvidence, anchors: Sequence[MonitorPoint], alarm: Alarm | None, until: datetime
) -> None:
    """Add whether the judge is the same as it was, so that its drift is not taken for the system's.

    Args:
        evidence: of a rate's alarm; it is completed.
        anchors: what anchors said of judges, in the order of the weeks.
        alarm: the open alarm about this system's judge; None without one.
        until: the end of the day that is looked at.
    """
    if alarm is not None:
        evidence.judge_state = alarm.evidence.judge_state or "changed"
        evidence.judge_alarm = alarm.alarm_id
        return
    own = [
        point
        for point in anchors
        if point.slice == evidence.judge
        and point.statistic is not None
        and point.window_from < until
    ]
    if own and until - own[-1].window_until <= _FRESH:
        evidence.judge_state, evidence.anchors = "steady", own[-1].evidence.claims
    else:
        evidence.judge_state = "unchecked"
