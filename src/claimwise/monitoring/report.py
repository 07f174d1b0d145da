"""Shows what the monitor saw, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from claimwise.monitoring.explain import describe_alarm, explain_alarm
from claimwise.monitoring.values import (
    VOLUME,
    WEEKLY,
    WHOLE,
    Alarm,
    MonitorPoint,
    to_document,
)
from claimwise.monitoring.watch import WatchResult
from claimwise.report.format import show_percent, show_percent_range

DAY_COLUMNS = ("system", "day", "answers", "labels", "supported", "judge alone", "unscored",
               "refusals", "evidence")  # fmt: skip
WEEK_COLUMNS = ("system", "week", "version", "answers", "labels", "supported", "range", "basis")
_SHOWN_DAYS = 14
_DAILY_COLUMNS = ("rate", "judge_rate", "unscored", "refusals")


def list_days(points: Sequence[MonitorPoint]) -> list[tuple[str, ...]]:
    """Return a line per system and day: the last two weeks of each system."""
    by_day: dict[tuple[str, datetime], dict[str, MonitorPoint]] = {}
    for point in points:
        if point.slice == WHOLE and point.system and not point.evidence.mark:
            by_day.setdefault((point.system, point.window_from), {})[point.signal] = point
    lines: dict[str, list[tuple[str, ...]]] = {}
    for (system, start), found in sorted(by_day.items()):
        if VOLUME not in found:
            continue
        lines.setdefault(system, []).append(
            (
                system,
                f"{start:%Y-%m-%d}",
                f"{found[VOLUME].value or 0:,.0f}",
                f"{found[VOLUME].evidence.labels:,}",
                *(_show_value(found.get(name)) for name in _DAILY_COLUMNS),
                _show_evidence(list(found.values())),
            )
        )
    return [line for those in lines.values() for line in those[-_SHOWN_DAYS:]]


def _show_value(point: MonitorPoint | None) -> str:
    return show_percent(point.value if point else None)


def _show_evidence(points: Sequence[MonitorPoint]) -> str:
    """Return how near the strongest evidence is to an alarm."""
    shares = [
        point.statistic / point.evidence.threshold
        for point in points
        if point.statistic is not None and point.evidence.threshold
    ]
    if not shares:
        return "learning"
    return "alarm" if max(shares) >= 1 else f"{max(shares):.1%}"


def list_weeks(points: Sequence[MonitorPoint]) -> list[tuple[str, ...]]:
    """Return a line per system, week and version; weeks in a row without answers share one."""
    weekly = [point for point in points if point.signal == WEEKLY and not point.evidence.mark]
    weekly.sort(key=lambda point: (point.system, point.window_from, point.slice))
    lines: list[tuple[str, ...]] = []
    for (_, is_empty), those in groupby(
        weekly, key=lambda point: (point.system, not point.evidence.answers)
    ):
        found = list(those)
        lines.extend([_write_gap(found)] if is_empty else map(_write_week, found))
    return lines


def _write_gap(points: Sequence[MonitorPoint]) -> tuple[str, ...]:
    system, first, *rest = _write_week(points[0])
    last = _name_week(points[-1])
    return (system, first if first == last else f"{first} to {last}", *rest)


def _write_week(point: MonitorPoint) -> tuple[str, ...]:
    return (
        point.system,
        _name_week(point),
        point.slice.removeprefix("version=") or "all",
        f"{point.evidence.answers:,}",
        f"{point.evidence.labels:,}",
        show_percent(point.value),
        show_percent_range(point.evidence.low, point.evidence.high),
        point.evidence.basis.replace("_", " "),
    )


def _name_week(point: MonitorPoint) -> str:
    return f"{point.window_from:%G-W%V}"


def to_watch_document(
    result: WatchResult, points: Sequence[MonitorPoint], alarms: Sequence[Alarm], window: str
) -> dict[str, Any]:
    """Return what one call did and what stands, for machines."""
    new = {alarm.alarm_id for alarm in result.raised}
    wanted = [p for p in points if (p.signal == WEEKLY) == (window == "week")]
    return {
        "window": window,
        "days_read": [{"system": system, "day": f"{day}"} for system, day in result.days],
        "new_alarms": [document_alarm(alarm) for alarm in alarms if alarm.alarm_id in new],
        "open_alarms": [document_alarm(alarm) for alarm in alarms],
        "points": [to_document(point) for point in wanted],
    }


def document_alarm(alarm: Alarm) -> dict[str, Any]:
    """Return an alarm with its sentences."""
    return {
        **to_document(alarm),
        "title": alarm.title,
        "summary": describe_alarm(alarm),
        "explanation": explain_alarm(alarm),
    }
