"""Turns reports into the parts of a page: charts, and the rows of the tables beside them.

Every figure is a report's own; nothing is computed here but where it is drawn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final, NamedTuple
from urllib.parse import quote

from markupsafe import Markup

from claimwise.app.charts import (
    Bar,
    ChartPart,
    Point,
    draw_bars,
    draw_forest,
    draw_quadrant,
    draw_trend,
)
from claimwise.app.links import UNSUPPORTED_WORD, link_claims, link_group
from claimwise.calibration.headline import METRIC_OF, Headline
from claimwise.config import Project
from claimwise.errors import ConfigError
from claimwise.gates.settings import read_gates
from claimwise.report import format as form
from claimwise.report.judges import describe_agreement
from claimwise.run_report import sentences
from claimwise.run_report.build import rank_slice
from claimwise.run_report.summary_text import LEAST_ITEMS
from claimwise.run_report.values import Report
from claimwise.types.results import Estimate, MetricTable

MOST_SLICES: Final = 8
UNSCORED: Final = "unscored"
NO_LABELS: Final = "nobody; this needs no labels"
_QUADRANT_ALARM: Final = "unfaithful_wrong"
SUPPORTED: Final = ("supported", "true")
# The colour and pattern of each verdict in charts, worst first.
COLOURS: Final = {
    "contradicted": "contradicted", "false": "contradicted", "overreach": "overreach",
    "unlinked": "unlinked", "unverifiable": "unlinked", "stale": "stale",
    "not scored": UNSCORED, "non_factual": UNSCORED, "supported": "supported", "true": "supported",
}  # fmt: skip


class MetricChoice(NamedTuple):
    """A metric that a page can show over time."""

    name: str
    title: str


class TrendRow(NamedTuple):
    """A run's rate in the table beside a trend; without a report, it is still being measured."""

    run_id: str
    started: str
    row: Estimate | None
    measured: bool
    judges: str


class Trend(NamedTuple):
    """One rate over time: the chart, and its table, the latest first."""

    title: str
    better: str | None
    chart: Markup
    rows: Sequence[TrendRow]


class Mix(NamedTuple):
    """How the claims of runs divide over verdicts, and which verdicts there are."""

    chart: Markup
    names: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Estimate | None], int]]
    by_judge: Sequence[tuple[str, str]]  # runs whose labels are mixed, and the judge that counts


class Slices(NamedTuple):
    """The worst slices of a rate: the chart, the rows of its table, and how many it leaves out."""

    title: str
    overall: Estimate | None
    basis: str | None  # whose labels it counts, where they are not the headline's
    chart: Markup
    rows: Sequence[Estimate]
    more: int


class MeasuredRun(NamedTuple):
    """A run as a list shows it, with its report once that is measured."""

    run_id: str
    started: str
    report: Report | None


def list_choices(report: Report) -> list[MetricChoice]:
    """Return the metrics that have a better and a worse, in the report's order."""
    return [
        MetricChoice(table.metric, form.clean(table.title))
        for table in report.tables
        if any(row.better for row in table.overall) or table.metric == "faithfulness"
    ]


def find_table(report: Report, metric: str) -> MetricTable | None:
    """Return a report's table of a metric, if it has one."""
    return next((table for table in report.tables if table.metric == metric), None)


def draw_trends(
    runs: Sequence[MeasuredRun], metric: str, limits: Sequence[Point] = ()
) -> list[Trend]:
    """Draw a metric of runs (the latest first) over time, one chart for each of its members."""
    tables = [table for run in runs if run.report and (table := find_table(run.report, metric))]
    if not tables:
        return []
    return [
        _draw_member(runs, metric, tables[0], member, limits)
        for member in form.members_of(tables[0])
    ]


def _draw_member(
    runs: Sequence[MeasuredRun],
    metric: str,
    table: MetricTable,
    member: str | None,
    limits: Sequence[Point],
) -> Trend:
    rows = [
        TrendRow(
            run.run_id,
            run.started,
            _find_overall(run, metric, member),
            run.report is not None,
            describe_judges(run, metric),
        )
        for run in runs
    ]
    title = form.name_in_words(member or table.title)
    points = [
        _make_point(form.clean(row.run_id), row.row)._replace(link=link_rate(row.run_id, metric))
        for row in reversed(rows)
    ]
    found = next((row.row for row in rows if row.row), None)
    return Trend(
        title=title,
        better=found.better if found else None,
        chart=draw_trend(points, title=f"{title} over time", limits=limits),
        rows=rows,
    )


def draw_headlines(
    runs: Sequence[tuple[str, Headline | None]], project: Project, *, linked: bool = True
) -> Markup:
    """Draw the one rate of runs (the latest first) over time, with the limits of its gates."""
    points = [
        Point(
            form.clean(run_id),
            one.rate if one else None,
            one.low if one else None,
            one.high if one else None,
            link=link_claims(run=run_id, verdict=UNSUPPORTED_WORD) if linked else None,
        )
        for run_id, one in reversed(runs)
    ]
    return draw_trend(points, title="Supported claims over time", limits=list_limits(project))


def list_limits(project: Project, metric: str = "faithfulness") -> list[Point]:
    """Return the limits that gates set to the whole of a metric; none where gates can't be read."""
    try:
        gates = read_gates(project)
    except ConfigError:
        return []
    return [
        Point(f"gate {form.clean(gate.name)}", gate.limit, said=f"limit {gate.limit:.0%}")
        for gate in gates
        if gate.metric == metric and not (gate.relative or gate.by or gate.where or gate.member)
    ]


def _find_overall(run: MeasuredRun, metric: str, member: str | None) -> Estimate | None:
    """Return a run's rate, as every page shows it."""
    table = find_table(run.report, metric) if run.report else None
    row = form.overall_of(table, member) if table else None
    return use_headline(run.report, row) if run.report and row else row


def use_headline(report: Report, row: Estimate) -> Estimate:
    """Return an overall rate; of the metric that the headline is about, it is the headline.

    What else a row says is about the labels that groups count. Where the headline rests on others,
    as a corrected rate does, its mean of items and its bounds would contradict it, and are gone.
    """
    headline = report.headline
    if METRIC_OF[headline.judgement] != row.metric:
        return row
    found = replace(row, micro=headline.rate, low=headline.low, high=headline.high)
    if row.micro == headline.rate:
        return found
    return replace(
        found,
        macro=None,
        bound_low=None,
        bound_high=None,
        asked=headline.asked,
        unscored=headline.unscored,
    )


def explain_basis(report: Report, metric: str, overall: float | None) -> str | None:
    """Say whose labels groups of a metric count; None where the run's headline tells."""
    if METRIC_OF[report.headline.judgement] != metric:
        return None
    return sentences.describe_group_basis(report.headline, overall)


def link_rate(run_id: str, metric: str) -> str:
    """Return where a run's rate leads: to the claims that it counts as wrong, or to the run."""
    if metric in METRIC_OF.values():
        return link_claims(run=run_id, verdict=UNSUPPORTED_WORD)
    return f"/runs/{quote(run_id, safe='')}?tab=metrics"


def _make_point(name: str, row: Estimate | None, *, alarm: bool = False) -> Point:
    if row is None or row.micro is None:
        return Point(name, None)
    note = f"{form.show_count(row.unscored)} unscored" if row.unscored else ""
    return Point(name, row.micro, row.low, row.high, note, alarm)


def draw_slices(report: Report, metric: str, *, most: int = MOST_SLICES) -> list[Slices]:
    """Draw the slices of a metric that are most clearly bad, with their simultaneous intervals.

    Slices of fewer than five items are left to the table: their rates are mostly luck.
    In the order by which the report picks its worst slice: the one it names stands first.
    """
    table = find_table(report, metric)
    if table is None:
        return []
    found = []
    for member in form.members_of(table):
        rows = [
            row
            for row in table.slices
            if form.member_of(row, table.series) == member and row.micro is not None
        ]
        if rows:
            run_id = report.run.get("run_id") or ""
            whole = form.overall_of(table, member)
            basis = explain_basis(report, metric, whole.micro if whole else None)
            found.append(_draw_worst_rows(table, member, rows, most, run_id, basis))
    return found


def _draw_worst_rows(
    table: MetricTable,
    member: str | None,
    rows: Sequence[Estimate],
    most: int,
    run_id: str,
    basis: str | None,
) -> Slices:
    whole = form.overall_of(table, member)
    reference = whole.micro if whole else None
    if whole and whole.better and reference is not None:
        overall, items = reference, whole.items  # a slice that holds everything tells nothing new
        rows = sorted(rows, key=lambda row: (row.items >= items, *rank_slice(row, overall)))
    drawn = [row for row in rows if row.items >= LEAST_ITEMS][:most] or rows[:most]
    points = [
        Point(
            form.slice_name(row, table.series),
            row.micro,
            row.simultaneous_low,
            row.simultaneous_high,
            form.pluralize(row.items, "item"),
            sentences.is_clearly_worse(row, reference),
            link_group(run_id, row.slice, verdict_of(table.metric)),
        )
        for row in drawn
    ]
    title = form.name_in_words(member or table.title)
    return Slices(
        title=title,
        overall=whole,
        basis=basis,
        chart=draw_forest(points, title=f"{title} by group, worst first", reference=reference),
        rows=rows[: 3 * most],
        more=max(0, len(rows) - len(drawn)),
    )


def verdict_of(metric: str) -> str | None:
    """Return the claims that a metric counts as wrong; None where all of them are of interest."""
    return UNSUPPORTED_WORD if metric in METRIC_OF.values() else None


def draw_mix(runs: Sequence[MeasuredRun]) -> Mix | None:
    """Draw which errors each run made, and how many; what is unscored is a part too.

    Supported claims are left to the table: they would dwarf everything else. All bars have one
    scale, the share of a run's claims, so that runs of different sizes can be compared.
    """
    tables = [
        (run, table)
        for run in runs
        if run.report and (table := find_table(run.report, "verdict_shares")) and table.overall
    ]
    if not tables:
        return None
    names = sorted((member or "" for member in form.members_of(tables[0][1])), key=_rank_verdict)
    rows = [(run.run_id, *_count_verdicts(table, names)) for run, table in tables]
    highest = max((_count_errors(row) / row[3] for row in rows if row[3]), default=0) or 1
    bars = [
        Bar(
            form.clean(run_id),
            [*(ChartPart(name, one.numerator if one else 0.0, COLOURS.get(name, UNSCORED),
                         link_claims(run=run_id, verdict=name))
               for name, one in zip(names, found, strict=True) if name not in SUPPORTED),
             ChartPart(UNSCORED, unscored, UNSCORED, link_claims(run=run_id, verdict=UNSCORED))],
            f"{form.show_count(_count_wrong(row))} of {form.pluralize(asked, 'claim')}",
            full=asked * highest,
        )
        for row in rows
        for run_id, found, unscored, asked in [row]
    ]  # fmt: skip
    chart = draw_bars(bars, title="Claims that are not supported, by run")
    by_judge = [
        (run.run_id, run.report.headline.judge)
        for run, _ in tables
        if run.report and run.report.headline.basis == "corrected" and run.report.headline.judge
    ]
    return Mix(chart, names, [row[:3] for row in rows], by_judge)


_MixRow = tuple[str, list[Estimate | None], int, int]


def _count_verdicts(
    table: MetricTable, names: Sequence[str]
) -> tuple[list[Estimate | None], int, int]:
    found = [form.overall_of(table, name) for name in names]
    unscored = max((row.unscored for row in found if row), default=0)
    return found, unscored, max((row.asked for row in found if row), default=0)


def _count_errors(row: _MixRow) -> float:
    """Return how many claims a bar shows: the wrong ones, and those that are not scored."""
    return row[2] + _count_wrong(row)


def _count_wrong(row: _MixRow) -> float:
    return sum(one.numerator for one in row[1] if one and one.slice.get("verdict") not in SUPPORTED)


def _rank_verdict(name: str) -> int:
    return list(COLOURS).index(name) if name in COLOURS else len(COLOURS)


def draw_cells(report: Report) -> Markup | None:
    """Draw faithful × correct, or nothing when no answer has a place in it."""
    table = find_table(report, "quadrant")
    if table is None or not form.is_measured(table):
        return None
    cells = [
        [
            _make_point(
                form.name_in_words(member),
                form.overall_of(table, member),
                alarm=member == _QUADRANT_ALARM,
            )
            for member in members
        ]
        for members in form.QUADRANT.values()
    ]
    return draw_quadrant(cells, title="Answers by faithful and correct")


def draw_pair(report: Report) -> Markup | None:
    """Draw the abstention pair, the two rates one below the other."""
    table = find_table(report, "abstention")
    if table is None or not form.is_measured(table):
        return None
    points = [
        _make_point(form.name_in_words(member or ""), form.overall_of(table, member))
        for member in form.members_of(table)
    ]
    return draw_forest(points, title="Abstention: the pair")


def describe_judges(run: MeasuredRun, metric: str) -> str:
    """Say whose labels a run's metric counts, and how far judges agree with people."""
    table = find_table(run.report, metric) if run.report else None
    if table is None or run.report is None:
        return "nobody yet"
    if not table.counts_labels:
        return NO_LABELS
    notes = {judge.labeler: describe_agreement(judge) for judge in run.report.judges}
    parts = [
        f"{form.clean(name)}: {form.pluralize(count, 'label')}"
        for name, count in table.people.items()
    ]
    parts += [
        f"{form.clean(name)}: {form.pluralize(count, 'label')} ({notes[name]})"
        for name, count in table.judges.items()
    ]
    return "; ".join(parts) or "nobody yet"
