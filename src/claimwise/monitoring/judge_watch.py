"""Watches the judge itself, week by week, on claims whose texts and labels never change."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta

import numpy as np

from claimwise.monitoring.anchors import BASELINE_JUDGINGS, ENOUGH_ANCHORS, compare_judgings
from claimwise.monitoring.naming import name_alarm
from claimwise.monitoring.queries import (
    AnchorVerdict,
    add_alarms,
    add_points,
    has_point,
    list_alarms,
    read_anchor_verdicts,
    read_points,
    to_start,
    void_calibrations,
)
from claimwise.monitoring.sequential import (
    TEN_YEARS_OF_WEEKS,
    Array,
    advance_by_day,
    start_state,
    weigh_state,
)
from claimwise.monitoring.settings import MonitorSettings
from claimwise.monitoring.streams import History
from claimwise.monitoring.values import (
    Alarm,
    AlarmEvidence,
    MonitorPoint,
    PointEvidence,
)
from claimwise.store import Store

WEEK = timedelta(days=7)
_ANY_SYSTEM = ""

AnchorVerdicts = Mapping[str, int]  # anchors, and 1 where the judge called them supported


def watch_anchors(
    store: Store, settings: MonitorSettings, now: datetime, urls: Sequence[str]
) -> list[Alarm]:
    """Read every finished week in which anchors were judged again; return the alarms it raised.

    A judge whose verdicts moved loses its calibrations at once: what they promised no longer holds.
    """
    if settings.anchors is None:
        return []
    verdicts = read_anchor_verdicts(store, settings.anchors, now)
    last = start_of_week((now - timedelta(days=settings.wait_days)).date())
    raised = []
    for judge, weeks in gather_judgings(verdicts).items():
        for week in sorted(weeks):
            if week < last:
                raised += _read_week(store, judge, week, weeks[week], now, urls)
    return raised


def start_of_week(day: date) -> date:
    """Return the Monday of a day's week."""
    return day - timedelta(days=day.weekday())


def gather_judgings(verdicts: Sequence[AnchorVerdict]) -> dict[str, dict[date, dict[str, int]]]:
    """Return the last verdict of every judge on every anchor, by week."""
    found: dict[str, dict[date, dict[str, int]]] = defaultdict(lambda: defaultdict(dict))
    for one in verdicts:  # in the order of their times
        found[one.labeler][start_of_week(one.judged_at.date())][one.anchor] = int(one.supported)
    return found


def _read_week(
    store: Store,
    judge: str,
    week: date,
    judging: AnchorVerdicts,
    now: datetime,
    urls: Sequence[str],
) -> list[Alarm]:
    """Read one judging of the anchors and keep what it says, all or nothing."""
    history = History()
    for point in read_points(store, _ANY_SYSTEM):
        if point.slice == judge:
            history.add(point)
    point = follow_judging(history, judge, week, judging, now)
    if has_point(store, point):
        return []
    is_open = any(a.slice == judge for a in list_alarms(store, open_only=True, system=_ANY_SYSTEM))
    alarm = None
    if point.statistic is not None and point.statistic >= TEN_YEARS_OF_WEEKS and not is_open:
        alarm = _make_alarm(point, judge, week, now, history)
    with store.write("monitor"):
        if has_point(store, point):
            return []
        add_points(store, [point])
        if alarm is not None:
            add_alarms(store, [alarm], urls)
            void_calibrations(store, judge, now)
    return [alarm] if alarm else []


def follow_judging(
    history: History, judge: str, week: date, judging: AnchorVerdicts, now: datetime
) -> MonitorPoint:
    """Take a week's judging into the evidence that the judge has changed.

    The first four judgings are the baseline. Anchors that one of the judgings lacks are left out.
    """
    earlier = [p for p in history.points if p.window_from >= history.since and p.evidence.verdicts]
    evidence = PointEvidence(verdicts=dict(judging), claims=len(judging))
    value = statistic = None
    compared = _compare(earlier, judging)
    if compared is not None:
        change, spread, anchors = compared
        before = history.find_state()
        state = np.array(before.state) if before else start_state("both")
        state = advance_by_day(state, change, 0.0, spread, direction="both")
        value, statistic = change, float(weigh_state(state))
        evidence.state, evidence.spread, evidence.claims = state.tolist(), spread, anchors
        evidence.threshold = TEN_YEARS_OF_WEEKS
    start = to_start(week)
    return MonitorPoint(
        signal="judge",
        system=_ANY_SYSTEM,
        slice=judge,
        window_from=start,
        window_until=start + WEEK,
        computed_at=now,
        value=value,
        statistic=statistic,
        evidence=evidence,
    )


def _compare(
    earlier: Sequence[MonitorPoint], judging: AnchorVerdicts
) -> tuple[float, float, int] | None:
    """Return change, its standard error and the number of anchors; None before there is enough."""
    if len(earlier) < BASELINE_JUDGINGS:
        return None
    used = [
        *(p.evidence.verdicts for p in earlier[:BASELINE_JUDGINGS]),
        earlier[-1].evidence.verdicts,
    ]
    common = sorted(set(judging).intersection(*used))
    if len(common) < ENOUGH_ANCHORS:
        return None
    table: Array = np.array([[one[anchor] for anchor in common] for one in used], dtype=np.float64)
    now: Array = np.array([judging[anchor] for anchor in common], dtype=np.float64)
    change, spread = compare_judgings(table[:-1], table[-1], now)
    return float(change), float(spread), len(common)


def _make_alarm(
    point: MonitorPoint, judge: str, week: date, now: datetime, history: History
) -> Alarm:
    since = history.find_change() or week
    return Alarm(
        alarm_id=name_alarm("judge", _ANY_SYSTEM, judge, week),
        signal="judge",
        system=_ANY_SYSTEM,
        slice=judge,
        raised_at=now,
        window_from=to_start(since),
        window_until=point.window_until,
        evidence=AlarmEvidence(
            value=point.value,
            spread=point.evidence.spread,
            statistic=point.statistic,
            threshold=point.evidence.threshold,
            since=since,
            judge=judge,
            judge_state="changed",
            anchors=point.evidence.claims,
        ),
    )
