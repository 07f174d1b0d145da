"""Writes what the monitor saw last as Prometheus reads it: text format 0.0.4."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC
from typing import Final

from claimwise.monitoring.judge_watch import WEEK
from claimwise.monitoring.queries import find_newest, list_alarms, read_points
from claimwise.monitoring.values import VOLUME, WEEKLY, Alarm, MonitorPoint
from claimwise.store import Store

_RECENT: Final = 3 * WEEK  # what was seen last before then is no longer current
MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_HELP: Final = {
    "claimwise_supported_share": "Share of supported claims of the latest day, by signal.",
    "claimwise_unscored_share": "Share of claims without a verdict on the latest day.",
    "claimwise_refused_share": "Share of answers that refuse, on the latest day.",
    "claimwise_judge_change": "How far the judge's rate on the anchors has moved.",
    "claimwise_input_mix_change": "Largest change of the share of a kind of input.",
    "claimwise_answers": "Answers of the latest day.",
    "claimwise_labels": "Labels of the latest day.",
    "claimwise_weekly_supported_share": "Share of supported claims of the latest week.",
    "claimwise_weekly_supported_share_low": "Lower end of its range.",
    "claimwise_weekly_supported_share_high": "Upper end of its range.",
    "claimwise_alarm_evidence": "Evidence of a change over its threshold; an alarm is raised at 1.",
    "claimwise_alarm_open": "1 for every alarm that nobody has closed.",
    "claimwise_last_day_timestamp_seconds": "End of the latest day that the monitor read.",
}
_NAMES: Final = {
    "rate": "claimwise_supported_share",
    "judge_rate": "claimwise_supported_share",
    "unscored": "claimwise_unscored_share",
    "refusals": "claimwise_refused_share",
    "judge": "claimwise_judge_change",
    "input_mix": "claimwise_input_mix_change",
    VOLUME: "claimwise_answers",
    WEEKLY: "claimwise_weekly_supported_share",
}

Sample = tuple[str, dict[str, str], float]


def write_metrics(store: Store) -> str:
    """Return the latest figures and the open alarms as Prometheus reads them."""
    with store.snapshot():
        newest = find_newest(store)
        points = read_points(store, since=newest - _RECENT) if newest else []
        alarms = list_alarms(store, open_only=True)
    return format_samples(list_samples(points, alarms))


def list_samples(points: Sequence[MonitorPoint], alarms: Iterable[Alarm]) -> Iterator[Sample]:
    """Yield the latest figure of every stream, and the open alarms.

    A stream whose latest window has no value yields none: no data is not a zero.
    """
    latest = {(p.signal, p.system, p.slice): p for p in points if not p.evidence.mark}
    for point in latest.values():
        yield from _describe_point(point)
    for alarm in alarms:
        labels = {"system": alarm.system, "signal": alarm.signal, "group": alarm.slice}
        yield "claimwise_alarm_open", {**labels, "alarm": alarm.alarm_id}, 1.0


def _describe_point(point: MonitorPoint) -> Iterator[Sample]:
    labels = {"system": point.system, "group": point.slice}
    name = _NAMES.get(point.signal)
    if name is not None and point.value is not None:
        extra = {"signal": point.signal} if name == "claimwise_supported_share" else {}
        basis = {"basis": point.evidence.basis} if point.signal == WEEKLY else {}
        yield name, {**labels, **extra, **basis}, point.value
    if point.signal == VOLUME:
        yield "claimwise_labels", labels, float(point.evidence.labels)
        end = point.window_until.replace(tzinfo=UTC).timestamp()
        yield "claimwise_last_day_timestamp_seconds", labels, end
    if point.signal == WEEKLY:
        for end_name in ("low", "high"):
            value = getattr(point.evidence, end_name)
            if value is not None:
                yield f"claimwise_weekly_supported_share_{end_name}", labels, value
    if point.statistic is not None and point.evidence.threshold:
        share = point.statistic / point.evidence.threshold
        yield "claimwise_alarm_evidence", {**labels, "signal": point.signal}, share


def format_samples(samples: Iterable[Sample]) -> str:
    """Return samples in the text format, those of one name together."""
    by_name: dict[str, list[str]] = {}
    for name, labels, value in samples:
        shown = ",".join(f'{key}="{_escape(text)}"' for key, text in labels.items())
        number = "NaN" if math.isnan(value) else repr(value)
        by_name.setdefault(name, []).append(f"{name}{{{shown}}} {number}")
    lines = [
        line
        for name in _HELP
        if name in by_name
        for line in (f"# HELP {name} {_HELP[name]}", f"# TYPE {name} gauge", *by_name[name])
    ]
    return "\n".join(lines) + "\n" if lines else ""


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
