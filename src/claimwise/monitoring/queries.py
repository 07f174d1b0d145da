"""Reads traffic by day, and keeps what the monitor saw: points, alarms, messages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time
from typing import Any, NamedTuple

import msgspec

from claimwise.errors import StoreError
from claimwise.estimates.rounds import to_stored_time
from claimwise.monitoring.values import (
    LONG_AGO,
    VOLUME,
    WHOLE,
    Alarm,
    AlarmEvidence,
    MonitorPoint,
    PointEvidence,
)
from claimwise.store import Store
from claimwise.store.files import SqlFolder

_SQL = SqlFolder("claimwise.monitoring")
_POINT = MonitorPoint.__struct_fields__
_ALARM = Alarm.__struct_fields__


class TrafficRow(NamedTuple):
    """A traffic answer of a day."""

    run_id: str
    item_id: str
    sample: int
    inclusion_probability: float
    action: str | None
    model: str | None
    prompt_ver: str | None
    retriever_ver: str | None
    question_length: int
    context_count: int | None
    conversation: str | None
    query_type: str | None
    domain: str | None
    stakes: str | None
    is_split: bool

    @property
    def version(self) -> str:
        """Its versions in one line."""
        parts = (self.model, self.prompt_ver, self.retriever_ver)
        return " · ".join(part for part in parts if part) or "no version given"


class LabelRow(NamedTuple):
    """A claim of a traffic answer and one of its labels, or none."""

    run_id: str
    item_id: str
    sample: int
    claim_id: str
    label_kind: str | None
    verdict: str | None
    confidence: float | None
    labeler: str | None
    labeled_at: Any
    inclusion_probability: float | None


class AnchorVerdict(NamedTuple):
    """What a judge once said of an anchor."""

    anchor: str
    labeler: str
    judged_at: datetime
    supported: bool


class DayRows(NamedTuple):
    """All that is stored of a system's day."""

    answers: list[TrafficRow]
    labels: list[LabelRow]
    attributes: dict[str, dict[str, str]]
    reasons: dict[str, int]


def to_start(day: date) -> datetime:
    """Return the first moment of a day, in UTC."""
    return datetime.combine(day, time.min)


def list_traffic_systems(store: Store) -> dict[str, date]:
    """Return the systems whose traffic is stored, and the day of each one's first answer."""
    rows = store.query(
        "select system, min(answered_at) from traffic_answers group by system order by system"
    )
    return {system: to_stored_time(first).date() for system, first in rows}


def read_day(store: Store, system: str, start: datetime, until: datetime, now: datetime) -> DayRows:
    """Return what a window holds of a system's traffic, with the labels that were there by now."""
    window = {"system": system, "start": start, "until": until}
    with store.snapshot():
        answers = [TrafficRow(*row) for row in store.query(_SQL["answers"], window)]
        labels = [LabelRow(*row) for row in store.query(_SQL["labels"], {**window, "now": now})]
        attributes: dict[str, dict[str, str]] = defaultdict(dict)
        for item_id, name, value in store.query(_SQL["attributes"], window):
            attributes[item_id][name] = value
        reasons: dict[str, int] = dict(store.query(_SQL["reasons"], window))
    return DayRows(answers, labels, attributes, reasons)


def read_anchor_verdicts(store: Store, run_id: str, now: datetime) -> list[AnchorVerdict]:
    """Return every verdict that judges gave on a run's claims that people have labelled.

    Raises:
        StoreError: there is no such run.
    """
    if not store.query("select 1 from runs where run_id = :run_id", {"run_id": run_id}):
        raise StoreError(
            f"{store.place}: no run {run_id!r}, which [monitor] anchors names; "
            "`claimwise runs` lists the runs"
        )
    rows = store.query(_SQL["anchors"], {"run_id": run_id, "now": now})
    return [
        AnchorVerdict(f"{item}/{claim}", labeler, to_stored_time(at), verdict == "supported")
        for item, claim, labeler, at, verdict in rows
    ]


def read_points(
    store: Store, system: str | None = None, *, since: datetime | None = None
) -> list[MonitorPoint]:
    """Return what the monitor saw of a system, or of all, in the order of the days."""
    params: dict[str, Any] = {"since": since or LONG_AGO}
    chosen = ""
    if system is not None:
        chosen, params["system"] = " and system = :system", system
    rows = store.query(
        f"select {', '.join(_POINT)} from monitor_points where window_from >= :since{chosen} "
        "order by window_from, window_until, signal, system, slice",
        params,
    )
    return [_to_point(row) for row in rows]


def find_newest(store: Store) -> datetime | None:
    """Return the end of the latest day that the monitor has read; None before its first look."""
    found = store.query(
        "select max(window_until) from monitor_points where signal = :signal and value is not null",
        {"signal": VOLUME},
    )[0][0]
    return None if found is None else to_stored_time(found)


def is_read(store: Store, system: str, day: date) -> bool:
    """Return whether the monitor has read a system's day."""
    found = store.query(
        "select 1 from monitor_points where signal = :signal and system = :system "
        "and slice = :slice and window_from = :start",
        {"signal": VOLUME, "system": system, "slice": WHOLE, "start": to_start(day)},
    )
    return bool(found)


def has_point(store: Store, point: MonitorPoint) -> bool:
    """Return whether there is a point of the same stream and window."""
    found = store.query(
        "select 1 from monitor_points where signal = :signal and system = :system "
        "and slice = :slice and window_from = :start and window_until = :until",
        {
            "signal": point.signal, "system": point.system, "slice": point.slice,
            "start": point.window_from, "until": point.window_until,
        },
    )  # fmt: skip
    return bool(found)


def add_points(store: Store, points: Iterable[MonitorPoint]) -> None:
    """Keep points, inside a transaction of the caller's."""
    store.insert_rows("monitor_points", _POINT, [_to_record(one, _POINT) for one in points])


def add_alarms(store: Store, alarms: Sequence[Alarm], urls: Sequence[str]) -> None:
    """Keep alarms, with a message to every webhook, inside a transaction of the caller's."""
    store.insert_rows("alarms", _ALARM, [_to_record(one, _ALARM) for one in alarms])
    messages = [
        (f"{alarm.alarm_id}-{number}", alarm.alarm_id, url, _write_body(alarm), 0, alarm.raised_at)
        for alarm in alarms
        for number, url in enumerate(urls, start=1)
    ]
    columns = ("delivery_id", "alarm_id", "url", "body", "attempts", "next_attempt_at")
    store.insert_rows("webhook_deliveries", columns, messages)


def _write_body(alarm: Alarm) -> str:
    document = {"event": "alarm.raised", "title": alarm.title, "alarm": alarm}
    return msgspec.json.encode(document).decode()


def list_alarms(store: Store, *, open_only: bool = False, system: str | None = None) -> list[Alarm]:
    """Return alarms, the latest first."""
    conditions = ["closed_at is null"] if open_only else []
    if system is not None:
        conditions.append("system in (:system, '')")
    where = f" where {' and '.join(conditions)}" if conditions else ""
    rows = store.query(
        f"select {', '.join(_ALARM)} from alarms{where} order by raised_at desc, alarm_id",
        {} if system is None else {"system": system},
    )
    return [_to_alarm(row) for row in rows]


def find_alarm(store: Store, alarm_id: str) -> Alarm | None:
    """Return an alarm by its id or by the unambiguous beginning of one; None without such a one."""
    found = [one for one in list_alarms(store) if one.alarm_id.startswith(alarm_id)]
    exact = [one for one in found if one.alarm_id == alarm_id]
    return exact[0] if exact else found[0] if len(found) == 1 else None


def mark_closed(store: Store, alarm: Alarm, who: str, because: str, now: datetime) -> bool:
    """Close an alarm that is open, inside a transaction; return whether it was."""
    changed = store.execute(
        "update alarms set closed_at = :now, closed_by = :who, resolution = :because "
        "where alarm_id = :alarm_id and closed_at is null",
        {"now": now, "who": who, "because": because, "alarm_id": alarm.alarm_id},
    )
    return changed == 1


def void_calibrations(store: Store, labeler: str, now: datetime) -> int:
    """End the calibrations of a judge that has changed, inside a transaction; return how many."""
    return store.execute(
        "update calibrations set expires_at = :now where labeler = :labeler and expires_at > :now",
        {"now": now, "labeler": labeler},
    )


def _to_record(row: msgspec.Struct, columns: Sequence[str]) -> tuple[Any, ...]:
    values = {name: getattr(row, name) for name in columns}
    values["evidence"] = msgspec.json.encode(values["evidence"]).decode()
    return tuple(values.values())


def _to_point(row: tuple[Any, ...]) -> MonitorPoint:
    values = dict(zip(_POINT, row, strict=True))
    values["evidence"] = msgspec.json.decode(values["evidence"], type=PointEvidence)
    return msgspec.convert(values, MonitorPoint, strict=False)


def _to_alarm(row: tuple[Any, ...]) -> Alarm:
    values = dict(zip(_ALARM, row, strict=True))
    values["evidence"] = msgspec.json.decode(values["evidence"], type=AlarmEvidence)
    return msgspec.convert(values, Alarm, strict=False)
