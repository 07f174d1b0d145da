"""Closes alarms: what someone found out, and whether a new baseline starts."""

from __future__ import annotations

from datetime import date, datetime

from claimwise.errors import RefusedError, StoreError, describe_unknown
from claimwise.monitoring.queries import (
    add_points,
    find_alarm,
    list_alarms,
    list_traffic_systems,
    mark_closed,
    to_start,
)
from claimwise.monitoring.values import (
    NEW_BASELINE,
    RESTART,
    VOLUME,
    WHOLE,
    Alarm,
    MonitorPoint,
    PointEvidence,
)
from claimwise.store import Store


def require_alarm(store: Store, alarm_id: str) -> Alarm:
    """Return an alarm by its id or the beginning of it.

    Raises:
        StoreError: there is none, or there are several.
    """
    found = find_alarm(store, alarm_id)
    if found is not None:
        return found
    known = (one.alarm_id for one in list_alarms(store))
    raise StoreError(describe_unknown("alarm", alarm_id, known, where=store.place))


def close_alarm(
    store: Store,
    alarm: Alarm,
    *,
    who: str,
    because: str,
    now: datetime,
    new_baseline: bool = False,
    since: date | None = None,
) -> None:
    """Close an alarm and let its evidence start again.

    Args:
        store: where it is.
        alarm: the alarm.
        who: closes it.
        because: what was found out and done.
        now: the time.
        new_baseline: the change is accepted: days since then are what later ones are held against.
        since: the first day of the new baseline; without one, the day after the alarm's.

    Raises:
        RefusedError: someone has closed it already, or there is no reason.
    """
    if not because.strip():
        raise RefusedError("say why: a closed alarm without a reason helps nobody next time")
    first = to_start(since) if since else alarm.window_until
    with store.write():
        if not mark_closed(store, alarm, who, because.strip(), now):
            raise RefusedError(f"alarm {alarm.alarm_id} is closed already")
        add_points(
            store,
            [
                MonitorPoint(
                    signal=signal, system=system, slice=group, window_from=first,
                    window_until=now, computed_at=now, value=None, statistic=None,
                    evidence=PointEvidence(
                        mark=NEW_BASELINE if new_baseline else RESTART, since=first
                    ),
                )
                for signal, system, group in _list_marked(store, alarm)
            ],
        )  # fmt: skip


def _list_marked(store: Store, alarm: Alarm) -> list[tuple[str, str, str]]:
    """Return the streams that an alarm's closing starts again.

    A judge's own rate moves with the judge, in every system that it judges.
    """
    if alarm.signal == "judge" and not alarm.system:
        judged = [("judge_rate", system, WHOLE) for system in list_traffic_systems(store)]
        return [alarm.stream, *judged]
    signals = {
        "no_data": (VOLUME,),
        "no_labels": ("rate",),
        "judge": ("judge", "judge_rate"),
        "rate": ("rate", "judge_rate"),
        "judge_rate": ("judge_rate", "rate"),
    }.get(alarm.signal, (alarm.signal,))
    return [(signal, alarm.system, alarm.slice) for signal in signals]
