"""Turns reports into the parts of a page: charts, and the rows of the tables beside them.

Every figure is a report's own; nothing is computed here but where it is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from markupsafe import Markup

from claimwise.app.charts import (
    Bar,
    ChartPart,
    Point,
    draw_bars,
    draw_forest,
    draw_quadrant,
    draw_trend,
    list_version_changes,
)
from claimwise.app.links import link_claims
from claimwise.app.rate_links import choose_verdict, link_headline, link_row, link_unscored
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
from claimwise.store.runs import FoundRun
from claimwise.types.results import Estimate, MetricTable

MOST_SLICES: Final = 8
UNSCORED: Final = "unscored"
NO_LABELS: Final = "nobody; this needs no labels"
_DAY: Final = len("2026-01-01")
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
    link: str
    link_unscored: str


class Trend(NamedTuple):
    """One rate over time: the chart, and its table, the latest first."""

    title: str
    better: str | None
    chart: Markup
    rows: Sequence[TrendRow]
    has_versions: bool  # whether the chart marks a change of version


class MixRow(NamedTuple):
    """How the claims of one run divide over verdicts, and where those of each are listed."""

    run_id: str
    found: Sequence[Estimate | None]
    unscored: int
    asked: int
    links: Mapping[str, str]

    @property
    def wrong(self) -> float:
        """How many claims are not supported."""
        rows = [one for one in self.found if one and one.slice.get("verdict") not in SUPPORTED]
        return sum(one.numerator for one in rows)


class Mix(NamedTuple):
    """How the claims of runs divide over verdicts, and which verdicts there are."""

    chart: Markup
    names: Sequence[str]
    rows: Sequence[MixRow]
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
            *_link_overall(run, metric, member),
        )
        for run in runs
    ]
    title = form.name_in_words(member or table.title)
    points = [
        _make_point(form.clean(row.run_id), row.row)._replace(
            link=row.link, when=row.started[:_DAY], version=_read_version(run.report)
        )
        for run, row in zip(reversed(runs), reversed(rows), strict=True)
    ]
    found = next((row.row for row in rows if row.row), None)
    return Trend(
        title=title,
        better=found.better if found else None,
        chart=draw_trend(points, title=f"{title} over time", limits=limits),
        rows=rows,
        has_versions=bool(list_version_changes(points)),
    )


def _read_version(report: Report | None) -> tuple[tuple[str, str], ...]:
    """Return the version of what a run measured; empty while it is not known."""
    if report is None:
        return ()
    run = report.run
    return name_version(run.get("model"), run.get("prompt_ver"), run.get("corpus_ver"))


def name_version(
    model: str | None, prompt_ver: str | None, corpus_ver: str | None
) -> tuple[tuple[str, str], ...]:
    """Return the parts of a version that a chart marks when they change."""
    parts = (("model", model), ("prompt", prompt_ver), ("corpus", corpus_ver))
    return tuple((name, form.clean(value or "none")) for name, value in parts)


def _link_overall(run: MeasuredRun, metric: str, member: str | None) -> tuple[str, str]:
    """Return where a run's rate leads, and where what it could not count is."""
    table = find_table(run.report, metric) if run.report else None
    row = form.overall_of(table, member) if table else None
    if run.report is None or table is None or row is None:
        return "", ""
    series = table.series
    return link_row(run.report, row, series), link_unscored(run.report, row, series)


def draw_headlines(
    runs: Sequence[tuple[FoundRun, Headline | None]], project: Project, *, linked: bool = True
) -> Markup:
    """Draw the one rate of runs (the latest first) over time, with the limits of its gates."""
    points = [
        Point(
            form.clean(run.run_id),
            one.rate if one else None,
            one.low if one else None,
            one.high if one else None,
            link=link_headline(run.run_id, one) if linked and one else None,
            when=f"{run.started_at:%Y-%m-%d}",
            version=name_version(run.model, run.prompt_ver, run.corpus_ver),
        )
        for run, one in reversed(runs)
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
            whole = form.overall_of(table, member)
            basis = explain_basis(report, metric, whole.micro if whole else None)
            found.append(_draw_worst_rows(report, table, member, rows, most, basis))
    return found


def _draw_worst_rows(
    report: Report,
    table: MetricTable,
    member: str | None,
    rows: Sequence[Estimate],
    most: int,
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
            link_row(report, row, table.series),
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
    rows = [_count_verdicts(run.run_id, run.report, table, names) for run, table in tables]
    highest = max(((row.unscored + row.wrong) / row.asked for row in rows if row.asked), default=0)
    chart = draw_bars(
        [_draw_errors(row, names, highest or 1) for row in rows],
        title="Claims that are not supported, by run",
    )
    by_judge = [
        (run.run_id, run.report.headline.judge)
        for run, _ in tables
        if run.report and run.report.headline.basis == "corrected" and run.report.headline.judge
    ]
    return Mix(chart, names, rows, by_judge)


def _count_verdicts(
    run_id: str, report: Report | None, table: MetricTable, names: Sequence[str]
) -> MixRow:
    found = [form.overall_of(table, name) for name in names]
    chosen = {
        name: choose_verdict(report.headline, name) if report else {"verdict": name}
        for name in (*names, UNSCORED)
    }
    return MixRow(
        run_id,
        found,
        max((row.unscored for row in found if row), default=0),
        max((row.asked for row in found if row), default=0),
        {name: link_claims(run=run_id, **fields) for name, fields in chosen.items()},
    )


def _draw_errors(row: MixRow, names: Sequence[str], highest: float) -> Bar:
    """Draw a run's errors and what is not scored, as wide as their share of the highest share."""
    errors = [
        (name, one.numerator if one else 0.0)
        for name, one in zip(names, row.found, strict=True)
        if name not in SUPPORTED
    ]
    return Bar(
        form.clean(row.run_id),
        [
            ChartPart(name, amount, COLOURS.get(name, UNSCORED), row.links[name])
            for name, amount in (*errors, (UNSCORED, row.unscored))
        ],
        f"{form.show_count(row.wrong)} of {form.pluralize(row.asked, 'claim')}",
        full=row.asked * highest,
    )


def _rank_verdict(name: str) -> int:
    return list(COLOURS).index(name) if name in COLOURS else len(COLOURS)


def draw_cells(report: Report) -> Markup | None:
    """Draw faithful × correct, or nothing when no answer has a place in it."""
    table = find_table(report, "quadrant")
    if table is None or not form.is_measured(table):
        return None
    cells = [
        [_make_part(report, table, member, alarm=member == _QUADRANT_ALARM) for member in members]
        for members in form.QUADRANT.values()
    ]
    return draw_quadrant(cells, title="Answers by faithful and correct")


def draw_pair(report: Report) -> Markup | None:
    """Draw the abstention pair, the two rates one below the other."""
    table = find_table(report, "abstention")
    if table is None or not form.is_measured(table):
        return None
    points = [_make_part(report, table, member or "") for member in form.members_of(table)]
    return draw_forest(points, title="Abstention: the pair")


def _make_part(report: Report, table: MetricTable, member: str, *, alarm: bool = False) -> Point:
    """Return one of a metric's rates as a mark that leads to its items."""
    row = form.overall_of(table, member)
    point = _make_point(form.name_in_words(member), row, alarm=alarm)
    return point._replace(link=link_row(report, row, table.series)) if row else point


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
