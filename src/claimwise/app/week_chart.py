"""Draws a system's weeks: the estimate with its range, new versions, alarms and their limit.

Every mark is a link, so the drawing is a group of links and not an image. It is as wide as its
weeks: on a narrow screen one scrolls through them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor
from typing import NamedTuple

from markupsafe import Markup

Place = Callable[[float], float]  # where a share lies along the axis

_LEFT, _TOP, _BOTTOM = 46.0, 34.0, 214.0
_LEAST_STEP, _MOST_STEP, _USUAL_WIDTH = 46.0, 96.0, 900.0
_HEIGHT = 244.0
_LEAST_WIDTH = 320.0


class WeekMark(NamedTuple):
    """A week as it is drawn."""

    name: str
    value: float | None
    low: float | None
    high: float | None
    told: str  # the figures in words
    link: str
    corrected: bool
    versions: tuple[str, ...] = ()  # that are new in this week
    alarms: tuple[tuple[str, str], ...] = ()  # link and title of alarms that were raised in it


class Limit(NamedTuple):
    """A line across: what a day is held against."""

    value: float
    name: str


def draw_weeks(weeks: Sequence[WeekMark], limit: Limit | None, title: str) -> Markup:
    """Draw weeks from left to right; a week without a figure leaves its place empty."""
    low, high = _enclose(weeks, limit)
    step = max(_LEAST_STEP, min(_MOST_STEP, _USUAL_WIDTH / max(1, len(weeks))))
    width = max(_LEAST_WIDTH, _LEFT + step * len(weeks) + 16)

    def rise(value: float) -> float:
        return _BOTTOM - (min(1.0, max(0.0, value)) - low) / (high - low) * (_BOTTOM - _TOP)

    places = [_LEFT + step * (number + 0.5) for number in range(len(weeks))]
    parts = [_draw_scale(low, high, rise, width)]
    if limit is not None:
        parts.append(_draw_limit(limit, rise(limit.value), width))
    parts.append(_draw_band(weeks, places, rise))
    for week, x in zip(weeks, places, strict=True):
        parts.append(_draw_week(week, x, step, rise))
    return Markup(
        '<svg class="weeks" width="{}" height="{}" viewBox="0 0 {} {}" role="group" '
        'aria-label="{}">{}</svg>'
    ).format(_n(width), _n(_HEIGHT), _n(width), _n(_HEIGHT), title, Markup("").join(parts))


def _enclose(weeks: Sequence[WeekMark], limit: Limit | None) -> tuple[float, float]:
    """Return the twentieths between which everything lies, a tenth apart or more."""
    values = [v for week in weeks for v in (week.value, week.low, week.high) if v is not None]
    values += [limit.value] if limit else []
    if not values:
        return 0.0, 1.0
    low, high = floor(min(values) * 20) / 20, ceil(max(values) * 20) / 20
    low, high = max(0.0, min(low, high - 0.1)), min(1.0, max(high, low + 0.1))
    return low, high


def _draw_scale(low: float, high: float, rise: Place, width: float) -> Markup:
    rows = []
    for at in (low, (low + high) / 2, high):
        y = rise(at)
        rows.append(
            Markup(
                '<line class="chart-grid" x1="{}" y1="{}" x2="{}" y2="{}"/>'
                '<text class="chart-text" x="{}" y="{}" text-anchor="end">{}</text>'
            ).format(_n(_LEFT), _n(y), _n(width - 4), _n(y), _n(_LEFT - 6), _n(y + 4), _share(at))
        )
    return Markup("").join(rows)


def _draw_limit(limit: Limit, y: float, width: float) -> Markup:
    return Markup(
        '<line class="chart-limit" x1="{}" y1="{}" x2="{}" y2="{}"><title>{}</title></line>'
    ).format(_n(_LEFT), _n(y), _n(width - 4), _n(y), limit.name)


def _draw_band(weeks: Sequence[WeekMark], places: Sequence[float], rise: Place) -> Markup:
    """Draw the ranges as one band, torn where a week has none."""
    stretches: list[list[tuple[float, float, float]]] = [[]]
    for week, x in zip(weeks, places, strict=True):
        if week.low is None or week.high is None:
            stretches.append([])
        else:
            stretches[-1].append((x, rise(week.low), rise(week.high)))
    drawn = []
    for stretch in stretches:
        if len(stretch) > 1:
            upper = [(x, high) for x, _, high in stretch]
            lower = [(x, low) for x, low, _ in reversed(stretch)]
            points = " ".join(f"{_n(x)},{_n(y)}" for x, y in upper + lower)
            drawn.append(Markup('<polygon class="week-band" points="{}"/>').format(points))
    return Markup("").join(drawn)


def _draw_week(week: WeekMark, x: float, step: float, rise: Place) -> Markup:
    parts = [
        Markup('<text class="chart-text" x="{}" y="{}" text-anchor="middle">{}</text>').format(
            _n(x), _n(_BOTTOM + 18), week.name
        )
    ]
    if week.versions:
        parts.append(_draw_version(week, x - step / 2))
    for number, (link, name) in enumerate(week.alarms):
        parts.append(_draw_alarm(link, name, x, 26.0 - 14 * number))
    if week.value is not None:
        parts.append(_draw_value(week, x, step, rise))
    return Markup("").join(parts)


def _draw_value(week: WeekMark, x: float, step: float, rise: Place) -> Markup:
    y = rise(week.value or 0.0)
    line = Markup()
    if week.low is not None and week.high is not None:
        line = Markup('<line class="chart-interval" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
            _n(x), _n(rise(week.low)), _n(x), _n(rise(week.high))
        )
    kind = "chart-dot" if week.corrected else "chart-dot week-judge-only"
    return Markup(
        '<a href="{}" aria-label="{}"><title>{}</title>'
        '<rect class="week-room" x="{}" y="{}" width="{}" height="{}"/>{}'
        '<circle class="{}" cx="{}" cy="{}" r="5"/></a>'
    ).format(
        week.link, week.told, week.told, _n(x - step / 2), _n(_TOP), _n(step),
        _n(_BOTTOM - _TOP), line, kind, _n(x), _n(y),
    )  # fmt: skip


def _draw_version(week: WeekMark, x: float) -> Markup:
    name = ", ".join(week.versions)
    return Markup(
        '<g><title>New: {}</title><line class="week-version" x1="{}" y1="{}" x2="{}" y2="{}"/>'
        '<text class="chart-text" x="{}" y="{}">{}</text></g>'
    ).format(
        name, _n(x), _n(_TOP - 6), _n(x), _n(_BOTTOM), _n(x + 3), _n(_BOTTOM - 5), _shorten(name)
    )


def _draw_alarm(link: str, name: str, x: float, y: float) -> Markup:
    shape = f"{_n(x - 7)},{_n(y)} {_n(x + 7)},{_n(y)} {_n(x)},{_n(y - 12)}"
    return Markup(
        '<a href="{}" aria-label="Alarm: {}"><title>Alarm: {}</title>'
        '<polygon class="week-alarm" points="{}"/></a>'
    ).format(link, name, name, shape)


def _share(value: float) -> str:
    return f"{value:.0%}" if round(value * 100) == round(value * 100, 3) else f"{value:.1%}"


def _shorten(words: str) -> str:
    return words if len(words) <= 18 else f"{words[:17]}…"


def _n(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")
