"""Live traffic by week and day: how it stands, how sure that is, and what alarms there are."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final, NamedTuple
from urllib.parse import urlencode

from claimwise.app.claims import look_of
from claimwise.app.requests import Call, PageRoute, Refusal, Response
from claimwise.app.week_chart import Limit, WeekMark, draw_weeks
from claimwise.claims.browse import ClaimFilter, ListedClaim
from claimwise.claims.values import UNSUPPORTED
from claimwise.monitoring.explain import describe_alarm
from claimwise.monitoring.judge_watch import WEEK
from claimwise.monitoring.prometheus import MEDIA_TYPE, write_metrics
from claimwise.monitoring.queries import list_alarms, list_traffic_systems, read_points
from claimwise.monitoring.report import list_days
from claimwise.monitoring.runbook import find_worst
from claimwise.monitoring.values import DAILY, TITLES, WEEKLY, WHOLE, Alarm, MonitorPoint
from claimwise.monitoring.weekly import VERSION
from claimwise.report import format as form
from claimwise.store import Store

_MOST_WEEKS: Final = 26
_MOST_CLAIMS: Final = 10


class WeekRow(NamedTuple):
    """A week in the table: its point, its own link, and its versions."""

    point: MonitorPoint
    name: str
    link: str
    versions: list[MonitorPoint]


class StreamRow(NamedTuple):
    """How near a figure is to an alarm."""

    title: str
    group: str
    value: str
    baseline: str
    share: float


def show_monitor(call: Call) -> Response:
    """Show a system's live traffic: the one that is asked for, or the first."""
    systems = list(list_traffic_systems(call.store))
    asked = call.query.get("system", "")
    if asked and asked not in systems:
        raise Refusal(404, "There is no traffic for that system.")
    if not systems:
        return call.render("monitor.html", system=None, systems=[], form=form)
    system = asked or systems[0]
    shown = read_points(call.store, system, since=call.now - (_MOST_WEEKS + 1) * WEEK)
    points = [point for point in shown if not point.evidence.mark]
    alarms = list_alarms(call.store, system=system)
    weeks = _list_weeks(system, points)
    chosen = _choose_week(weeks, call.query.get("week"))
    return call.render(
        "monitor.html",
        system=system,
        systems=systems,
        form=form,
        weeks=list(reversed(weeks)),
        chart=draw_weeks(
            _mark_weeks(weeks[-_MOST_WEEKS:], alarms),
            _find_limit(points),
            f"Supported claims of {form.clean(system)} by week",
        ),
        chosen=chosen,
        claims=_list_claims(call.store, chosen.point.evidence.runs) if chosen else [],
        days=list_days(points),
        streams=_list_streams(points),
        alarms=[alarm for alarm in alarms if alarm.closed_at is None],
        describe=describe_alarm,
        look=look_of,
    )


def _list_weeks(system: str, points: Sequence[MonitorPoint]) -> list[WeekRow]:
    by_week: dict[datetime, list[MonitorPoint]] = {}
    for point in points:
        if point.signal == WEEKLY:
            by_week.setdefault(point.window_from, []).append(point)
    rows = []
    for start, found in sorted(by_week.items()):
        whole = next(p for p in found if p.slice == WHOLE)
        fields = urlencode({"system": system, "week": f"{start:%Y-%m-%d}"})
        link = f"/monitor?{fields}#week"
        rows.append(WeekRow(whole, f"{start:%G-W%V}", link, [p for p in found if p.slice]))
    return rows


def _choose_week(weeks: Sequence[WeekRow], asked: str | None) -> WeekRow | None:
    if asked is None:
        return weeks[-1] if weeks else None
    found = [week for week in weeks if f"{week.point.window_from:%Y-%m-%d}" == asked]
    if not found:
        raise Refusal(404, "There is no such week.")
    return found[0]


def _mark_weeks(weeks: Sequence[WeekRow], alarms: Sequence[Alarm]) -> list[WeekMark]:
    known: set[str] = set()
    marks = []
    for number, week in enumerate(weeks):
        point = week.point
        versions = {one.slice.removeprefix(VERSION) for one in week.versions}
        new = sorted(versions - known) if number else []
        known |= versions
        raised = [
            alarm
            for alarm in alarms
            if point.window_from < alarm.window_until <= point.window_until
        ]
        marks.append(
            WeekMark(
                name=f"{point.window_from:%b %d}",
                value=point.value,
                low=point.evidence.low,
                high=point.evidence.high,
                told=f"{week.name}: {_describe_figures(point)}",
                link=week.link,
                corrected=point.evidence.basis in ("corrected", "labels_only"),
                versions=tuple(form.clean(name) for name in new),
                alarms=tuple((f"/alarms/{a.alarm_id}", describe_alarm(a)) for a in raised[:2]),
            )
        )
    return marks


def _describe_figures(point: MonitorPoint) -> str:
    found = point.evidence
    if point.value is None:
        return "no rate"
    span = form.show_percent_range(found.low, found.high)
    return f"{form.show_percent(point.value)} ({span}), {found.basis.replace('_', ' ')}"


def _find_limit(points: Sequence[MonitorPoint]) -> Limit | None:
    """Return below what days count as evidence of a drop: the latest baseline less a point."""
    for signal in ("rate", "judge_rate"):
        known = [p for p in points if p.key == (signal, WHOLE) and p.evidence.baseline is not None]
        if known and known[-1].evidence.baseline is not None:
            value = known[-1].evidence.baseline - DAILY[signal].tolerated
            return Limit(
                value, f"Days below {form.show_percent(value)} count as evidence of a drop"
            )
    return None


def _list_streams(points: Sequence[MonitorPoint]) -> list[StreamRow]:
    """Return how near every figure is to an alarm, the nearest first."""
    latest = {p.key: p for p in points if p.statistic is not None and p.evidence.threshold}
    rows = [
        StreamRow(
            title=TITLES.get(point.signal, point.signal),
            group=point.slice,
            value=form.show_percent(point.value),
            baseline=form.show_percent(point.evidence.baseline),
            share=min(1.0, (point.statistic or 0.0) / (point.evidence.threshold or 1.0)),
        )
        for point in latest.values()
    ]
    return sorted(rows, key=lambda row: -row.share)


def _list_claims(store: Store, runs: Sequence[str]) -> list[ListedClaim]:
    return find_worst(store, runs, ClaimFilter(verdicts=UNSUPPORTED), _MOST_CLAIMS)


def show_metrics(call: Call) -> Response:
    """Show the figures as Prometheus reads them."""
    return Response(body=write_metrics(call.store).encode(), media_type=MEDIA_TYPE)


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/monitor", show_monitor, "adjudicator"),
    PageRoute("GET", "/monitor/metrics", show_metrics, "admin"),
)
