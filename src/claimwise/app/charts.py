"""Draws small charts as SVG on the server: no script, no inline style, every text escaped.

A mark may be a link to what it counts. Such links are for pointers alone: the table beside the
chart has the same ones for the keyboard, where they are large enough to be told apart.

All charts are 360 units wide, the width of a phone, so that their texts keep a readable size
when a page shows them narrow; ``static/charts.css`` gives them colours in light and dark. A chart
is a picture of a table that stands beside it: what does not fit is left to the table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from math import ceil, floor, sqrt
from typing import Final, NamedTuple

from markupsafe import Markup

from claimwise.report.format import show_percent, show_percent_range, show_points

WIDTH: Final = 360
# How wide a letter and a bold figure are, about, at the size of chart texts: in DejaVu Sans, the
# widest of the fonts that a browser may take.
_LETTER: Final = 6.8
_DIGIT: Final = 6.4
_MOST_LETTERS: Final = 60
_GROUP_COLUMN: Final = re.compile(
    r"(?:(?<=, )|^)[a-z_]+="
)  # as in “query_type=lookup, stakes=high”
_COLUMN: Final = 40.0  # as wide as a dot with its figure beside it

Place = Callable[[float], float]  # where a share lies along an axis
Spot = tuple[float, float]


class Point(NamedTuple):
    """One rate: what it is called, where it lies, and between what."""

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    note: str = ""  # stands behind the rate in words, as “12 unscored”
    alarm: bool = False
    link: str | None = None  # to what the rate counts
    said: str = ""  # the figures in words, where they are no rates in percent
    when: str = ""  # the day, at the ends of a trend
    version: tuple[tuple[str, str], ...] = ()  # of what was measured: part and value


class ChartPart(NamedTuple):
    """One part of a whole: its name, how much it is, and the name of its colour and pattern."""

    name: str
    amount: float
    colour: str
    link: str | None = None


class Bar(NamedTuple):
    """One whole that is divided into parts."""

    name: str
    parts: Sequence[ChartPart]
    note: str = ""
    full: float | None = None  # the amount that is as wide as the chart; None: all parts together


class FlowBand(NamedTuple):
    """Units that were one thing before and are another, or the same, now."""

    before: str
    after: str
    amount: float
    link: str | None = None


class ConfidenceBin(NamedTuple):
    """Claims of about the same confidence, and how many of them were right."""

    confidence: float
    observed: float | None
    low: float | None
    high: float | None
    claims: int
    link: str | None = None


def draw_trend(points: Sequence[Point], *, title: str, limits: Sequence[Point] = ()) -> Markup:
    """Draw rates over time from left to right, each with its interval.

    Points stand at equal distances: what matters is their order, and runs come in bursts. The
    scale runs between the tenths that enclose everything drawn, and says so. A point without a
    rate leaves its place empty. ``limits`` are lines across, as a gate's. A dotted line stands
    where the version changed from one point to the next.
    """
    left, right, top, bottom = 30.0, WIDTH - 4.0, 10.0, 150.0
    low, high = _enclose([*points, *limits])

    def rise(value: float) -> float:
        return bottom - (_clip(value) - low) / (high - low) * (bottom - top)

    room = right - left
    crowded = room < _COLUMN * len(points)
    # Where only the last rate is named, its figure stands behind all columns, not on them.
    step = (room - _COLUMN if crowded else room) / max(1, len(points))
    drawn = [_draw_scale(left, right, rise, (low, (low + high) / 2, high))]
    drawn += [_draw_limit(one, left, right, rise) for one in limits if one.value is not None]
    drawn += [
        _draw_change(told, left + step * number, top, bottom)
        for number, told in list_version_changes(points)
    ]
    for number, point in enumerate(points):
        named = not crowded or number == len(points) - 1
        place = (left + step * (number + 0.5), step, top, bottom)
        drawn.append(_draw_upright(point, place, rise, named=named))
    drawn.append(_draw_ends(points, left, right, bottom + 16))
    low_end = bottom + (36 if any(point.when for point in points) else 20)
    return _wrap(title, _describe_points([*points, *limits]), low_end, drawn)


def list_version_changes(points: Sequence[Point]) -> list[tuple[int, str]]:
    """Return the points before which the version changed, by number, and what changed."""
    found = []
    for number, (one, other) in enumerate(pairwise(points), start=1):
        before = dict(one.version)
        told = [
            f"{name} {before.get(name, 'none')} to {value}"
            for name, value in other.version
            if before.get(name, "none") != value
        ]
        if one.version and told:
            found.append((number, f"{other.name}: {', '.join(told)}"))
    return found


def _draw_change(told: str, x: float, top: float, bottom: float) -> Markup:
    return _link(told, None, [_line("chart-version", x, top, x, bottom)])


def _draw_limit(limit: Point, left: float, right: float, rise: Place) -> Markup:
    y = rise(limit.value or 0.0)
    return _group(limit, [_line("chart-limit", left, y, right, y)])


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
    names = [_text(left - 6, rise(at) + 4, f"{100 * at:.0f}%", "end") for at in places]
    return _join([*lines, *names])


def _draw_upright(
    point: Point, place: tuple[float, float, float, float], rise: Place, *, named: bool
) -> Markup:
    """Draw a rate above its place: the middle, width, top and bottom of its column."""
    if point.value is None:
        return Markup()
    x, width, top, bottom = place
    parts = []
    if point.link:  # the whole column leads there: a dot is hard to hit
        parts.append(_box("chart-hit", x - width / 2, top, width, bottom - top))
    if point.low is not None and point.high is not None:
        parts.append(_line("chart-interval", x, rise(point.low), x, rise(point.high)))
    parts.append(_dot("chart-dot", x, rise(point.value), 4))
    if named:
        # Beside the dot, or before it where the chart ends.
        before = x > WIDTH - _COLUMN - 4
        anchor = "end" if before else "start"
        parts.append(
            _text(x + (-8 if before else 8), rise(point.value) + 4, show_percent(point.value),
                  anchor, "chart-value")
        )  # fmt: skip
    return _group(point, parts)


def _draw_ends(points: Sequence[Point], left: float, right: float, y: float) -> Markup:
    """Name the first and the last point; those between are in the table."""
    if not points:
        return Markup()
    if len(points) == 1:
        ends = [((left + right) / 2, "middle", points[0])]
    else:
        ends = [(left, "start", points[0]), (right, "end", points[-1])]
    room = 44 if len(points) == 1 else 22
    names = [_text(x, y, _shorten(point.name, room), anchor) for x, anchor, point in ends]
    days = [_text(x, y + 16, point.when, anchor) for x, anchor, point in ends if point.when]
    return _join([*names, *days])


def draw_forest(
    points: Sequence[Point],
    *,
    title: str,
    reference: float | None = None,
    ends: tuple[str, str] = ("0%", "100%"),
) -> Markup:
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
    drawn.append(_text(left, height - 2, ends[0], "start"))
    drawn.append(_text(right, height - 2, ends[1], "end"))
    return _wrap(title, _describe_points(points), height, drawn)


def draw_changes(points: Sequence[Point], *, title: str) -> Markup:
    """Draw changes of rates with their intervals, one below the other: zero is the mark across.

    The scale is the same to either side, and wide enough for all that is drawn.
    """
    ends = [abs(end) for one in points for end in (one.value, one.low, one.high) if end is not None]
    reach = min(1.0, ceil(10 * max([0.1, *ends]) - 1e-9) / 10)

    def to_share(value: float | None) -> float | None:
        return None if value is None else 0.5 + value / reach / 2

    shown = [
        one._replace(
            value=to_share(one.value), low=to_share(one.low), high=to_share(one.high),
            said=one.said or _describe_change(one),
        )
        for one in points
    ]  # fmt: skip
    far = f"{100 * reach:.0f} points"
    return draw_forest(shown, title=title, reference=0.5, ends=(f"−{far}", f"+{far}"))


def _describe_change(point: Point) -> str:
    if point.value is None:
        return "no change measured"
    if point.low is None or point.high is None:
        return show_points(point.value)
    return f"{show_points(point.value)} ({show_points(point.low)} to {show_points(point.high)})"


def _draw_flat(point: Point, top: float, place: Place, reference: float | None) -> Markup:
    left, right, y = place(0), place(1), top + 24
    kind = " chart-alarm" if point.alarm else ""
    figures = _figures(point)
    room = int((right - left - len(figures) * _DIGIT) / _LETTER)
    parts = [
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
    if point.link:
        parts.append(_box("chart-hit", left, top, right - left, 32))
    return _group(point, parts)


def draw_bars(bars: Sequence[Bar], *, title: str) -> Markup:
    """Draw wholes divided into parts, one below the other, each as wide as the chart.

    A part's amount stands in it where it fits. A whole of nothing is an empty frame. Parts differ
    by pattern as well as by colour.
    """
    row, top = 40.0, 2.0
    drawn = [_draw_bar(bar, top + row * number) for number, bar in enumerate(bars)]
    told = "; ".join(
        f"{bar.name}: " + ", ".join(f"{part.name} {part.amount:,.0f}" for part in bar.parts)
        for bar in bars
    )
    return _wrap(title, told, top + row * len(bars), [_PATTERNS, *drawn])


def _draw_bar(bar: Bar, top: float) -> Markup:
    left, right, y, height = 1.0, WIDTH - 1.0, top + 17, 18.0
    room = int((right - left - len(bar.note) * _DIGIT) / _LETTER)
    drawn = [
        _text(left, top + 12, _shorten(bar.name, room), "start", "chart-name"),
        _text(right, top + 12, bar.note, "end", "chart-value"),
        _box("chart-frame", left, y, right - left, height),
    ]
    total = bar.full or sum(part.amount for part in bar.parts)
    x = left
    for part in bar.parts:
        if not part.amount:
            continue
        width = min(right - x, part.amount / total * (right - left))
        drawn.append(_draw_part(part, x, y, width, height))
        x += width
    return Markup("<g>{}</g>").format(_join(drawn))


def _draw_part(part: ChartPart, x: float, y: float, width: float, height: float) -> Markup:
    amount = f"{part.amount:,.0f}"
    drawn = [_box(f"chart-part chart-{part.colour}", x, y, width, height)]
    if part.colour in PATTERNED:
        drawn.append(_fill(f"url(#chart-pattern-{part.colour})", x, y, width, height))
    if width > len(amount) * _DIGIT + 6:
        wide = len(amount) * _DIGIT + 4
        drawn.append(_box("chart-plate", x + (width - wide) / 2, y + 3, wide, height - 6))
        drawn.append(_text(x + width / 2, y + 13, amount, "middle", "chart-value"))
    return _link(f"{part.name}: {amount}", part.link, drawn)


# Lines, dots and crosses over a colour: kinds of claims stay apart for whoever sees no colours.
_SHAPES: Final = {
    "contradicted": '<path d="M0 6L6 0M-1 1L1 -1M5 7L7 5"/>',
    "overreach": '<path d="M0 3H6"/>',
    "unlinked": '<circle cx="3" cy="3" r="1.2"/>',
    "stale": '<path d="M3 0V6"/>',
}
PATTERNED: Final = frozenset(_SHAPES)
_PATTERNS: Final = Markup("<defs>{}</defs>").format(
    Markup("").join(
        Markup(
            '<pattern id="chart-pattern-{}" class="chart-pattern" width="6" height="6" '
            'patternUnits="userSpaceOnUse">{}</pattern>'
        ).format(name, Markup(shape))  # noqa: S704 - our own shapes, of the lines above
        for name, shape in _SHAPES.items()
    )
)


def draw_flow(
    bands: Sequence[FlowBand], *, title: str, ends: tuple[str, str], colours: Mapping[str, str]
) -> Markup:
    """Draw what units were before at the left, what they are now at the right, and bands between.

    Kinds stand in the order of ``colours``, which names the colour of each; bands as well as their
    kinds are as high as their amounts.
    """
    left, right, top, high = 92.0, WIDTH - 92.0, 22.0, 190.0
    total = sum(band.amount for band in bands)
    kinds = [[name for name in colours if any(band[side] == name for band in bands)]
             for side in (0, 1)]  # fmt: skip
    gap = 14.0
    room = high - gap * (max(map(len, kinds), default=1) - 1)
    scale = room / total if total else 0.0
    starts = [_stack(bands, side, kinds[side], scale, top, gap) for side in (0, 1)]
    drawn = [
        _text(left, 12, _shorten(ends[0], 24), "end"),
        _text(right, 12, _shorten(ends[1], 24), "start"),
    ]
    places = [dict(start) for start in starts]
    for band in sorted(bands, key=lambda one: list(colours).index(one.after)):
        thick = band.amount * scale
        from_y, to_y = places[0][band.before], places[1][band.after]
        places[0][band.before] += thick
        places[1][band.after] += thick
        kind = f"chart-flow chart-flow-{colours[band.after]}"
        same = " chart-flow-same" if band.before == band.after else ""
        shape = _ribbon(kind + same, (left + 4, from_y), (right - 4, to_y), thick)
        told = f"{band.before} to {band.after}: {band.amount:,.0f}"
        drawn.append(_link(told, band.link, [shape]))
    for side, x, anchor in ((0, left, "end"), (1, right, "start")):
        drawn += _draw_kinds(bands, side, starts[side], scale, x, anchor, colours)
    told = "; ".join(f"{one.before} to {one.after}: {one.amount:,.0f}" for one in bands)
    return _wrap(title, told, top + high + 8, drawn)


def _stack(
    bands: Sequence[FlowBand],
    side: int,
    kinds: Sequence[str],
    scale: float,
    top: float,
    gap: float,
) -> dict[str, float]:
    """Return where each kind begins, one below the other."""
    found, y = {}, top
    for name in kinds:
        found[name] = y
        y += gap + scale * sum(band.amount for band in bands if band[side] == name)
    return found


def _draw_kinds(
    bands: Sequence[FlowBand],
    side: int,
    starts: Mapping[str, float],
    scale: float,
    x: float,
    anchor: str,
    colours: Mapping[str, str],
) -> list[Markup]:
    drawn = []
    for name, y in starts.items():
        amount = sum(band.amount for band in bands if band[side] == name)
        high = max(1.0, scale * amount)
        drawn.append(_box(f"chart-part chart-{colours[name]}", x - 4, y, 8, high))
        words = _text(
            x + (-10 if side == 0 else 10), y + min(high, 18) / 2 + 4, f"{name} {amount:,.0f}",
            anchor, "chart-name",
        )  # fmt: skip
        drawn.append(words)
    return drawn


def _ribbon(kind: str, start: Spot, end: Spot, thick: float) -> Markup:
    """Draw a band of one thickness from a spot at the left to one at the right."""
    (x1, y1), (x2, y2) = start, end
    middle = (x1 + x2) / 2
    path = (
        f"M{_number(x1)} {_number(y1)}C{_number(middle)} {_number(y1)} {_number(middle)} "
        f"{_number(y2)} {_number(x2)} {_number(y2)}V{_number(y2 + thick)}C{_number(middle)} "
        f"{_number(y2 + thick)} {_number(middle)} {_number(y1 + thick)} {_number(x1)} "
        f"{_number(y1 + thick)}Z"
    )
    return Markup('<path class="{}" d="{}"/>').format(kind, path)


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
    rate = show_percent(point.value)
    drawn = [
        _box("chart-frame", x, y, wide, high),
        _box(kind, x + 4, y + high - 4 - side, side, side),
        _text(x + wide - 6, y + 18, rate, "end", "chart-value"),
        _text(x + wide - 6, y + 34, _interval(point), "end"),
    ]
    return _group(point, drawn)


def draw_reliability(bins: Sequence[ConfidenceBin], *, title: str) -> Markup:
    """Draw how often a judge is right against how sure it was; the diagonal is honest.

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
                      f"{one.claims:,} claims", link=one.link)  # fmt: skip
        x = across(one.confidence)
        parts = []
        if one.low is not None and one.high is not None:
            parts.append(_line("chart-interval", x, rise(one.low), x, rise(one.high)))
        parts.append(_dot("chart-dot", x, rise(one.observed), 3 + 5 * sqrt(one.claims / most)))
        drawn.append(_group(point, parts))
    told = "; ".join(
        f"confidence {one.confidence:.2f}: {one.observed:.2f} of {one.claims:,}"
        for one in bins
        if one.observed is not None
    )
    return _wrap(title, told, 344, drawn)


def _wrap(title: str, told: str, height: float, drawn: Sequence[Markup]) -> Markup:
    shapes = _join(drawn)
    role = (
        "group" if "<a " in shapes else "img"
    )  # a picture's insides are hidden from who can't see
    return Markup(
        '<svg class="chart" viewBox="0 0 {} {}" role="{}"><title>{}</title><desc>{}</desc>{}</svg>'
    ).format(WIDTH, _number(height), role, title, told or "nothing to draw", shapes)


def _group(point: Point, drawn: Sequence[Markup]) -> Markup:
    """Join the marks of a rate under its name, as a link where it has one."""
    return _link(_say(point), point.link, drawn)


def _link(told: str, link: str | None, drawn: Sequence[Markup]) -> Markup:
    title = Markup("<title>{}</title>").format(told)
    if link is None:
        return Markup("<g>{}</g>").format(_join([title, *drawn]))
    return Markup('<a class="chart-link" href="{}" tabindex="-1" aria-label="{}">{}</a>').format(
        link, told, _join([title, *drawn])
    )


def _fill(fill: str, x: float, y: float, width: float, height: float) -> Markup:
    return Markup('<rect fill="{}" x="{}" y="{}" width="{}" height="{}"/>').format(
        fill, _number(x), _number(y), _number(width), _number(height)
    )


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
    return show_percent_range(point.low, point.high)


def _figures(point: Point) -> str:
    if point.said:
        return point.said
    if point.value is None:
        return "no rate"
    interval = _interval(point)
    return f"{show_percent(point.value)} ({interval})" if interval else show_percent(point.value)


def _say(point: Point) -> str:
    told = f"{point.name}: {_figures(point)}"
    return f"{told}, {point.note}" if point.note else told


def _describe_points(points: Sequence[Point]) -> str:
    return "; ".join(_say(point) for point in points)


def _shorten(words: str, room: int) -> str:
    """Cut a name to what fits; the table has it whole. Of a group, the values matter most."""
    room = max(4, min(room, _MOST_LETTERS))
    if len(words) > room:
        words = _GROUP_COLUMN.sub("", words)
    return words if len(words) <= room else f"{words[: room - 1]}…"
