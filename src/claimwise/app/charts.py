"""Draws small charts as SVG on the server: no script, no inline style, every text escaped.

All charts are 360 units wide, the width of a phone, so that their texts keep a readable size
when a page shows them narrow; ``static/charts.css`` gives them colours in light and dark. A chart
is a picture of a table that stands beside it: what does not fit is left to the table.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil, floor, sqrt
from typing import Final, NamedTuple

from markupsafe import Markup

WIDTH: Final = 360
# How wide a letter and a bold figure are, about, at the size of chart texts: in DejaVu Sans, the
# widest of the fonts that a browser may take.
_LETTER: Final = 6.8
_DIGIT: Final = 6.4
_MOST_LETTERS: Final = 60

Place = Callable[[float], float]  # where a share lies along an axis


class Point(NamedTuple):
    """One rate: what it is called, where it lies, and between what."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""  # stands behind the rate in words, as “12 unscored”
    alarm: bool = False


class ChartPart(NamedTuple):
    """One part of a whole: its name, how much it is, and the number of its colour."""

    name: str
    amount: float
    colour: str


class Bar(NamedTuple):
    """One whole that is divided into parts."""

    name: str
    parts: Sequence[ChartPart]
    note: str = ""


class ConfidenceBin(NamedTuple):
    """Claims of about the same confidence, and how many of them were right."""

    confidence: float
    observed: float | None
    low: float | None
    high: float | None
    claims: int


def draw_trend(points: Sequence[Point], *, title: str) -> Markup:
    """Draw rates over time from left to right, each with its interval.

    Points stand at equal distances: what matters is their order, and runs come in bursts. The
    scale runs between the tenths that enclose everything drawn, and says so. A point without a
    rate leaves its place empty.
    """
    left, right, top, bottom = 30.0, WIDTH - 4.0, 10.0, 150.0
    low, high = _enclose(points)

    def rise(value: float) -> float:
        return bottom - (_clip(value) - low) / (high - low) * (bottom - top)

    step = (right - left) / max(1, len(points))
    drawn = [_draw_scale(left, right, rise, (low, (low + high) / 2, high))]
    for number, point in enumerate(points):
        named = step >= 40 or number == len(points) - 1
        drawn.append(_draw_upright(point, left + step * (number + 0.5), rise, named=named))
    drawn.append(_draw_ends(points, left, right, bottom + 16))
    return _wrap(title, _describe_points(points), bottom + 20, drawn)


def _enclose(points: Sequence[Point]) -> tuple[float, float]:
    """Return the tenths between which all rates and intervals lie, a fifth apart or more."""
    places = [
        _clip(place)
        for point in points
        for place in (point.value, point.low, point.high)
        if place is not None
    ]
    if not places:
        return 0.0, 1.0
    low, high = floor(min(places) * 10) / 10, ceil(max(places) * 10) / 10
    if high - low < 0.2:
        low, high = (low, low + 0.2) if low <= 0.8 else (0.8, 1.0)
    return low, high


def _draw_scale(left: float, right: float, rise: Place, places: Sequence[float]) -> Markup:
    lines = [_line("chart-grid", left, rise(at), right, rise(at)) for at in places]
    names = [_text(left - 6, rise(at) + 4, f"{at:.2f}"[:4], "end") for at in places]
    return _join([*lines, *names])


def _draw_upright(point: Point, x: float, rise: Place, *, named: bool) -> Markup:
    if point.value is None:
        return Markup()
    parts = [Markup("<title>{}</title>").format(_say(point))]
    if point.low is not None and point.high is not None:
        parts.append(_line("chart-interval", x, rise(point.low), x, rise(point.high)))
    parts.append(_dot("chart-dot", x, rise(point.value), 4))
    if named:
        # Beside the dot, or before it where the chart ends.
        before = x > WIDTH - 50
        anchor = "end" if before else "start"
        parts.append(
            _text(x + (-8 if before else 8), rise(point.value) + 4, f"{point.value:.3f}", anchor,
                  "chart-value")
        )  # fmt: skip
    return Markup("<g>{}</g>").format(_join(parts))


def _draw_ends(points: Sequence[Point], left: float, right: float, y: float) -> Markup:
    """Name the first and the last point; those between are in the table."""
    if not points:
        return Markup()
    if len(points) == 1:
        return _text((left + right) / 2, y, _shorten(points[0].name, 50), "middle")
    room = 28
    return _join(
        [
            _text(left, y, _shorten(points[0].name, room), "start"),
            _text(right, y, _shorten(points[-1].name, room), "end"),
        ]
    )


def draw_forest(points: Sequence[Point], *, title: str, reference: float | None = None) -> Markup:
    """Draw rates with their intervals one below the other, on a scale of 0 to 1.

    Each has its name and figures above its line; ``reference`` is a mark across every line.
    """
    row, top = 36.0, 2.0
    left, right = 4.0, WIDTH - 4.0

    def place(value: float) -> float:
        return left + _clip(value) * (right - left)

    height = top + row * len(points) + 14
    drawn = [
        _draw_flat(point, top + row * number, place, reference)
        for number, point in enumerate(points)
    ]
    drawn.append(_text(left, height - 2, "0", "start"))
    drawn.append(_text(right, height - 2, "1", "end"))
    return _wrap(title, _describe_points(points), height, drawn)


def _draw_flat(point: Point, top: float, place: Place, reference: float | None) -> Markup:
    left, right, y = place(0), place(1), top + 24
    kind = " chart-alarm" if point.alarm else ""
    figures = _figures(point)
    room = int((right - left - len(figures) * _DIGIT) / _LETTER)
    parts = [
        Markup("<title>{}</title>").format(_say(point)),
        _text(left, top + 12, _shorten(point.name, room), "start", f"chart-name{kind}"),
        _text(right, top + 12, figures, "end", f"chart-value{kind}"),
        _line("chart-grid", left, y, right, y),
    ]
    if point.value is not None:
        if point.low is not None and point.high is not None:
            parts.append(_line(f"chart-interval{kind}", place(point.low), y, place(point.high), y))
        if reference is not None:
            parts.append(_line("chart-mark", place(reference), y - 6, place(reference), y + 6))
        parts.append(_dot(f"chart-dot{kind}", place(point.value), y, 4))
    return Markup("<g>{}</g>").format(_join(parts))


def draw_bars(bars: Sequence[Bar], *, title: str) -> Markup:
    """Draw wholes divided into parts, one below the other, each as wide as the chart.

    A part's amount stands in it where it fits. A whole of nothing is an empty frame.
    """
    row, top = 40.0, 2.0
    drawn = [_draw_bar(bar, top + row * number) for number, bar in enumerate(bars)]
    told = "; ".join(
        f"{bar.name}: " + ", ".join(f"{part.name} {part.amount:,.0f}" for part in bar.parts)
        for bar in bars
    )
    return _wrap(title, told, top + row * len(bars), drawn)


def _draw_bar(bar: Bar, top: float) -> Markup:
    left, right, y, height = 1.0, WIDTH - 1.0, top + 17, 18.0
    room = int((right - left - len(bar.note) * _DIGIT) / _LETTER)
    drawn = [
        _text(left, top + 12, _shorten(bar.name, room), "start", "chart-name"),
        _text(right, top + 12, bar.note, "end", "chart-value"),
        _box("chart-frame", left, y, right - left, height),
    ]
    total = sum(part.amount for part in bar.parts)
    x = left
    for part in bar.parts:
        if not part.amount:
            continue
        width = part.amount / total * (right - left)
        drawn.append(_draw_part(part, x, y, width, height))
        x += width
    return Markup("<g>{}</g>").format(_join(drawn))


def _draw_part(part: ChartPart, x: float, y: float, width: float, height: float) -> Markup:
    amount = f"{part.amount:,.0f}"
    drawn = [
        Markup("<title>{}: {}</title>").format(part.name, amount),
        _box(f"chart-part chart-{part.colour}", x, y, width, height),
    ]
    if width > len(amount) * _DIGIT + 4:
        kind = f"chart-on chart-on-{part.colour}"
        drawn.append(_text(x + width / 2, y + 13, amount, "middle", kind))
    return Markup("<g>{}</g>").format(_join(drawn))


def draw_quadrant(cells: Sequence[Sequence[Point]], *, title: str) -> Markup:
    """Draw a table of two by two rates: a square in each cell is as large as the rate.

    Rows are faithful and unfaithful, columns correct and wrong.
    """
    left, top, wide, high = 66.0, 18.0, (WIDTH - 68.0) / 2, 84.0
    drawn = [
        _text(left + wide / 2, 12, "correct", "middle"),
        _text(left + wide * 1.5, 12, "wrong", "middle"),
    ]
    for line, (name, points) in enumerate(zip(("faithful", "unfaithful"), cells, strict=True)):
        y = top + line * (high + 2)
        drawn.append(_text(left - 6, y + high / 2 + 4, name, "end"))
        for column, point in enumerate(points):
            drawn.append(_draw_cell(point, left + column * (wide + 2), y, wide, high))
    told = _describe_points([point for points in cells for point in points])
    return _wrap(title, told, top + 2 * high + 4, drawn)


def _draw_cell(point: Point, x: float, y: float, wide: float, high: float) -> Markup:
    side = sqrt(_clip(point.value or 0.0)) * (high - 8)
    kind = "chart-cell-alarm" if point.alarm else "chart-cell"
    rate = "—" if point.value is None else f"{point.value:.3f}"
    drawn = [
        Markup("<title>{}</title>").format(_say(point)),
        _box("chart-frame", x, y, wide, high),
        _box(kind, x + 4, y + high - 4 - side, side, side),
        _text(x + wide - 6, y + 18, rate, "end", "chart-value"),
        _text(x + wide - 6, y + 34, _interval(point), "end"),
    ]
    return Markup("<g>{}</g>").format(_join(drawn))


def draw_reliability(bins: Sequence[ConfidenceBin], *, title: str) -> Markup:
    """Draw how often an instrument is right against how sure it was; the diagonal is honest.

    A dot's area grows with the number of claims in its bin; a bin without claims has no dot.
    """
    left, right, top, bottom = 34.0, 334.0, 8.0, 308.0
    most = max((one.claims for one in bins), default=0) or 1

    def across(value: float) -> float:
        return left + _clip(value) * (right - left)

    def rise(value: float) -> float:
        return bottom - _clip(value) * (bottom - top)

    drawn = [
        _draw_scale(left, right, rise, (0.0, 0.5, 1.0)),
        _line("chart-limit", across(0), rise(0), across(1), rise(1)),
        *(_text(across(at), bottom + 16, f"{at:g}", "middle") for at in (0.0, 0.5, 1.0)),
        _text((left + right) / 2, bottom + 32, "confidence", "middle"),
        _text(left + 6, top + 12, "observed share", "start"),
    ]
    for one in bins:
        if one.observed is None:
            continue
        point = Point(f"confidence {one.confidence:.2f}", one.observed, one.low, one.high,
                      f"{one.claims:,} claims")  # fmt: skip
        x = across(one.confidence)
        parts = [Markup("<title>{}</title>").format(_say(point))]
        if one.low is not None and one.high is not None:
            parts.append(_line("chart-interval", x, rise(one.low), x, rise(one.high)))
        parts.append(_dot("chart-dot", x, rise(one.observed), 3 + 5 * sqrt(one.claims / most)))
        drawn.append(Markup("<g>{}</g>").format(_join(parts)))
    told = "; ".join(
        f"confidence {one.confidence:.2f}: {one.observed:.2f} of {one.claims:,}"
        for one in bins
        if one.observed is not None
    )
    return _wrap(title, told, 344, drawn)


def _wrap(title: str, told: str, height: float, drawn: Sequence[Markup]) -> Markup:
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="img"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(WIDTH, _number(height), title, told or "nothing to draw", _join(drawn))


def _line(kind: str, x1: float, y1: float, x2: float, y2: float) -> Markup:
    return Markup('<line class="{}" x1="{}" y1="{}" x2="{}" y2="{}"/>').format(
        kind, _number(x1), _number(y1), _number(x2), _number(y2)
    )


def _box(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect class="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        kind, _number(x), _number(y), _number(width), _number(height)
    )


def _dot(kind: str, x: float, y: float, radius: float) -> Markup:
    return Markup('<circle class="{}" cx="{}" cy="{}" r="{}"/>').format(
        kind, _number(x), _number(y), _number(radius)
    )


def _text(x: float, y: float, words: str, anchor: str, kind: str = "chart-text") -> Markup:
    return Markup('<text class="{}" x="{}" y="{}" text-anchor="{}">{}</text>').format(
        kind, _number(x), _number(y), anchor, words
    )


def _join(parts: Sequence[Markup]) -> Markup:
    return Markup("").join(parts)


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _interval(point: Point) -> str:
    if point.low is None or point.high is None:
        return ""
    return f"[{point.low:.3f}, {point.high:.3f}]"


def _figures(point: Point) -> str:
    rate = "no rate" if point.value is None else f"{point.value:.3f}"
    return f"{rate} {_interval(point)}".strip()


def _say(point: Point) -> str:
    told = f"{point.name}: {_figures(point)}"
    return f"{told}, {point.note}" if point.note else told


def _describe_points(points: Sequence[Point]) -> str:
    return "; ".join(_say(point) for point in points)


def _shorten(words: str, room: int) -> str:
    """Cut a name to what fits; the table has it whole."""
    room = max(4, min(room, _MOST_LETTERS))
    return words if len(words) <= room else f"{words[: room - 1]}…"
