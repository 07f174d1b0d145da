"""Charts: well-formed, inside their frame, in words too, and nobody's text becomes markup."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from claimwise.app.charts import (
    WIDTH,
    Bar,
    ChartPart,
    ConfidenceBin,
    FlowBand,
    Point,
    draw_bars,
    draw_changes,
    draw_flow,
    draw_forest,
    draw_quadrant,
    draw_reliability,
    draw_trend,
)

HOSTILE = '</title><script>alert("1")</script>&\'<style>'

shares = st.floats(0, 1)
names = st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), max_size=80)
points = st.builds(
    lambda name, rate, low, high: Point(name, rate, min(low, rate), max(high, rate)),
    names, shares, shares, shares,
) | st.builds(lambda name: Point(name, None), names)  # fmt: skip


def read(chart: Markup) -> ElementTree.Element:
    return ElementTree.fromstring(str(chart))


def check(chart: Markup) -> None:
    """Everything lies in the frame, and the picture has a name and words."""
    root = read(chart)
    _, _, width, height = (float(part) for part in root.attrib["viewBox"].split())
    assert width == WIDTH
    linked = root.find(".//a") is not None
    assert root.attrib["role"] == ("group" if linked else "img")
    assert root[0].tag == "title"
    assert root[1].tag == "desc"
    assert root[1].text
    patterns = {part for defs in root.iter("defs") for part in defs.iter()}
    for element in root.iter():
        assert "style" not in element.attrib
        if element in patterns:
            continue
        for name in ("x", "x1", "x2", "cx"):
            assert -0.1 <= float(element.attrib.get(name, 0)) <= width + 0.1
        for name in ("y", "y1", "y2", "cy"):
            assert -0.1 <= float(element.attrib.get(name, 0)) <= height + 0.1
        if element.tag == "rect":
            assert float(element.attrib["x"]) + float(element.attrib["width"]) <= width + 0.2


@given(st.lists(points, max_size=40))
def test_trends_and_forests_stay_in_their_frame(found: list[Point]) -> None:
    check(draw_trend(found, title="a rate"))
    check(draw_forest(found, title="slices", reference=0.5))
    check(draw_changes(found, title="changes"))


@given(st.lists(st.lists(st.floats(0, 1e9), min_size=1, max_size=6), max_size=6))
def test_bars_stay_in_their_frame(amounts: list[list[float]]) -> None:
    bars = [
        Bar("run", [ChartPart(f"p{n}", amount, str(n)) for n, amount in enumerate(one)])
        for one in amounts
    ]
    check(draw_bars(bars, title="mix"))


@given(st.lists(st.tuples(shares, shares, shares, shares, st.integers(0, 10**9)), max_size=20))
def test_reliability_stays_in_its_frame(
    found: list[tuple[float, float, float, float, int]],
) -> None:
    bins = [
        ConfidenceBin(at, seen, min(low, seen), max(high, seen), n)
        for at, seen, low, high, n in found
    ]
    check(draw_reliability([*bins, ConfidenceBin(0.5, None, None, None, 0)], title="reliability"))


def test_no_name_becomes_markup() -> None:
    point = Point(HOSTILE, 0.5, 0.4, 0.6, HOSTILE)
    cells = [[point, point], [point, point]]
    charts = [
        draw_trend([point], title=HOSTILE),
        draw_forest([point], title=HOSTILE),
        draw_bars([Bar(HOSTILE, [ChartPart(HOSTILE, 3, "0")], HOSTILE)], title=HOSTILE),
        draw_quadrant(cells, title=HOSTILE),
        draw_trend([point._replace(link=f"/claims?q={HOSTILE}")], title=HOSTILE),
        draw_flow([FlowBand(HOSTILE, HOSTILE, 3)], title=HOSTILE, ends=(HOSTILE, HOSTILE),
                  colours={HOSTILE: "supported"}),
    ]  # fmt: skip
    for chart in charts:
        check(chart)
        tags = {element.tag for element in read(chart).iter()}
        assert tags <= {"svg", "title", "desc", "g", "line", "rect", "circle", "text", "a",
                        "path", "defs", "pattern"}  # fmt: skip


def test_trend_says_its_scale_and_every_value_that_fits() -> None:
    chart = draw_trend(
        [Point("first", 0.84, 0.78, 0.89), Point("second", 0.87, 0.81, 0.92)], title="rate"
    )
    texts = [element.text for element in read(chart).iter("text")]
    assert texts == ["70%", "85%", "100%", "84%", "87%", "first", "second"]
    many = draw_trend([Point(str(n), 0.5) for n in range(30)], title="rate")
    assert [e.text for e in read(many).iter("text")].count("50%") == 2  # the last
    assert len(list(read(many).iter("circle"))) == 30


def test_trend_marks_new_versions_and_the_days_of_its_ends() -> None:
    old, new = (("model", "m1"), ("prompt", "p1")), (("model", "m1"), ("prompt", "p2"))
    chart = draw_trend(
        [
            Point("first", 0.84, when="2026-01-01", version=old),
            Point("second", 0.87, when="2026-02-01", version=old),
            Point("third", 0.87, when="2026-03-01", version=new),
            Point("unknown", 0.87, when="2026-04-01"),
        ],
        title="rate",
    )
    root = read(chart)
    [mark] = [e for e in root.iter("line") if e.attrib["class"] == "chart-version"]
    places = [float(e.attrib["cx"]) for e in root.iter("circle")]
    assert places[1] < float(mark.attrib["x1"]) < places[2]
    assert "third: prompt p1 to p2" in [e.text for e in root.iter("title")]
    texts = [e.text for e in root.iter("text")]
    assert texts[-4:] == ["first", "unknown", "2026-01-01", "2026-04-01"]
    check(chart)


def test_groups_that_do_not_fit_keep_their_values() -> None:
    name = "query_type=aggregation, stakes=medium"
    chart = draw_changes([Point(name, 0.019, -0.855, 0.894)], title="changes")
    texts = [element.text for element in read(chart).iter("text")]
    assert "aggregation, medium" in texts
    assert f"{name}: +1.9 (−85.5 to +89.4)" in [e.text for e in read(chart).iter("title")]


def test_what_has_no_rate_is_not_drawn() -> None:
    chart = draw_trend([Point("none", None), Point("some", 0.5)], title="rate")
    assert len(list(read(chart).iter("circle"))) == 1
    assert "none: no rate" in (read(chart)[1].text or "")


def test_quadrant_squares_are_as_large_as_their_rates() -> None:
    cells = [[Point("a", 0.64), Point("b", 0.16)], [Point("c", 0.2), Point("d", None)]]
    root = read(draw_quadrant(cells, title="four"))
    squares = [e for e in root.iter("rect") if e.attrib["class"].startswith("chart-cell")]
    sides = [float(square.attrib["width"]) for square in squares]
    assert (sides[0] / sides[1]) ** 2 == pytest.approx(4, rel=0.02)
    assert sides[3] == 0


def test_parts_are_as_wide_as_their_amounts() -> None:
    bar = Bar(
        "run", [ChartPart("a", 30, "0"), ChartPart("b", 0, "1"), ChartPart("c", 10, "unscored")]
    )
    root = read(draw_bars([bar], title="mix"))
    parts = [e for e in root.iter("rect") if "chart-part" in e.attrib.get("class", "")]
    assert [part.attrib["class"].split()[1] for part in parts] == ["chart-0", "chart-unscored"]
    assert float(parts[0].attrib["width"]) == pytest.approx(
        3 * float(parts[1].attrib["width"]), 0.01
    )


def test_kinds_of_claims_differ_by_pattern_and_marks_lead_to_them() -> None:
    kinds = ("contradicted", "overreach", "unlinked", "stale")
    bar = Bar("run", [ChartPart(name, 5, name, f"/claims?verdict={name}") for name in kinds])
    root = read(draw_bars([bar], title="mix"))
    fills = [e.attrib["fill"] for e in root.iter("rect") if "fill" in e.attrib]
    assert fills == [f"url(#chart-pattern-{name})" for name in kinds]
    drawn = {p.attrib["id"]: ElementTree.tostring(p[0]) for p in root.iter("pattern")}
    assert len(set(drawn.values())) == len(kinds)
    assert [a.attrib["href"] for a in root.iter("a")] == [f"/claims?verdict={n}" for n in kinds]
    assert [a.attrib["aria-label"] for a in root.iter("a")] == [f"{name}: 5" for name in kinds]


def test_bands_of_a_flow_are_as_thick_as_their_claims() -> None:
    bands = [FlowBand("supported", "supported", 30), FlowBand("supported", "stale", 10, "/x")]
    colours = {"stale": "stale", "supported": "supported"}
    root = read(draw_flow(bands, title="flow", ends=("a", "b"), colours=colours))
    texts = [e.text for e in root.iter("text")]
    assert texts == ["a", "b", "supported 40", "stale 10", "supported 30"]
    boxes = [float(e.attrib["height"]) for e in root.iter("rect")]
    assert boxes[0] == pytest.approx(4 * boxes[1], rel=0.02)
    assert boxes[2] == pytest.approx(3 * boxes[1], rel=0.02)
    assert [a.attrib["href"] for a in root.iter("a")] == ["/x"]
