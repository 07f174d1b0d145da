"""Two runs side by side: how far the rate moved, which verdicts became which, and why."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

from markupsafe import Markup

from claimwise.app import panels
from claimwise.app.charts import FlowBand, Point, draw_changes, draw_flow
from claimwise.app.claims import look_of
from claimwise.app.figures import Kept, ReadyFigures, Wanted, read_figures
from claimwise.app.rate_links import link_rate
from claimwise.app.requests import Call, PageRoute, Response
from claimwise.app.run_choice import choose_pair
from claimwise.calibration.headline import METRIC_OF
from claimwise.comparison import drift_report
from claimwise.comparison import report as words
from claimwise.comparison.compare import compare_runs, find_bases
from claimwise.comparison.drift import explain_drift
from claimwise.comparison.drift_values import Drift, DriftPart
from claimwise.comparison.flow import FlippedClaim, VerdictFlow, find_flow
from claimwise.comparison.queries import find_pair
from claimwise.comparison.screen import describe_points
from claimwise.comparison.values import Change, Comparison, MetricChange
from claimwise.config import Project
from claimwise.metrics import find_metric, load_metrics
from claimwise.metrics.catalogue import list_metrics
from claimwise.report import format as form
from claimwise.report.changes import name_slice
from claimwise.run_report.summary_text import describe_change, name_basis
from claimwise.store import Store

PAGE: Final = 25
_MOST_GROUPS: Final = 12
_LEAST_ITEMS: Final = 5  # of a group: fewer say next to nothing
_DEFAULT_METRIC: Final = "faithfulness"


class ComparedRuns(NamedTuple):
    """A comparison of two runs, and what became of the verdicts."""

    comparison: Comparison
    flow: VerdictFlow


class FlipPage(NamedTuple):
    """A page of flipped claims, and the links to the pages beside it."""

    flips: Sequence[FlippedClaim]
    found: int
    before: str | None
    after: str | None


class FlowCell(NamedTuple):
    """How many claims went from one verdict to another, and where they are listed."""

    claims: int
    link: str | None
    same: bool


def want_comparison(project: Project, base: str, new: str) -> Wanted:
    """Return how to compare two runs by the main metrics."""

    def measure(store: Store) -> ComparedRuns:
        metrics = list_metrics(load_metrics(project.metrics_folder, project.citations), "main")
        with store.snapshot():
            pair = find_pair(store, base, new)
            comparison = compare_runs(
                store,
                metrics,
                pair,
                project.config.metrics.by,
                project.settings,
                version=version("claimwise"),
            )
            bases = find_bases(store, pair, project.settings)
            return ComparedRuns(comparison, find_flow(store, pair, bases))

    return Wanted(("compare", base, new), new, measure, others=(base,))


def show_compare(call: Call) -> Response:
    """Show how two runs differ; without any in the link, the latest and the one before it."""
    chosen = choose_pair(call)
    values: dict[str, Any] = {"chosen": chosen, "shown": None, "problem": None, "found": None}
    if chosen.base and chosen.new and chosen.base != chosen.new:
        wanted = want_comparison(call.project, chosen.base, chosen.new)
        shown = read_figures(call, [wanted])
        values.update(_read_kept(shown, wanted))
        if values["found"] is not None:
            values.update(_show_comparison(call, values["found"], chosen.base, chosen.new))
    return call.render(
        "compare.html", form=form, words=words, look=look_of, name_basis=name_basis, **values
    )


def _read_kept(shown: ReadyFigures, wanted: Wanted) -> dict[str, Any]:
    kept: Kept | None = shown.kept.get(wanted.key)
    return {
        "shown": shown,
        "made_at": kept.made_at if kept else None,
        "problem": kept.problem if kept else None,
        "found": kept.value if kept and kept.problem is None else None,
    }


def _show_comparison(call: Call, found: ComparedRuns, base: str, new: str) -> dict[str, Any]:
    comparison, flow = found
    measured = [metric for metric in comparison.metrics if metric.is_measured]
    lead = _find_lead(comparison, measured)
    change = comparison.headline.change
    before = [name for name in panels.COLOURS if name in {one.base for one in flow.changes}]
    after = [name for name in panels.COLOURS if name in {one.new for one in flow.changes}]
    return {
        "comparison": comparison,
        "flow": flow,
        "told": describe_change(change, names_since=False) if change else None,
        "changes": _draw_metrics(measured, new),
        "groups": _draw_groups(lead, new) if lead else None,
        "group_rows": _list_groups(lead, new) if lead else [],
        "link_rate": lambda metric, row: _link_rate(new, metric, row),
        "lead": lead,
        "flow_chart": _draw_flow(flow, base, new),
        "flow_names": after,
        "flow_rows": _tabulate_flow(flow, before, after, base, new),
        "page": _cut_flips(call, flow, base, new),
        "filtered": (call.query.get("from"), call.query.get("to")),
        "describe_points": describe_points,
        "name_slice": name_slice,
    }


def _find_lead(comparison: Comparison, measured: Sequence[MetricChange]) -> MetricChange | None:
    """Return the metric that the headline is about, or the first that both runs have."""
    wanted = METRIC_OF[comparison.headline.new.judgement]
    return next(
        (one for one in measured if one.metric == wanted), measured[0] if measured else None
    )


def _draw_metrics(measured: Sequence[MetricChange], new: str) -> Markup:
    points = [
        _to_point(words.name_rate(metric, row), row, _link_rate(new, metric, row))
        for metric in measured
        for row in metric.overall
        if row.better is not None
    ]
    return draw_changes(points, title="How the rates moved")


def _link_rate(new: str, metric: MetricChange, row: Change) -> str:
    """Return where the new run's side of a row leads."""
    group = {name: value for name, value in row.slice.items() if name != metric.series}
    return link_rate(new, metric.metric, row.slice.get(metric.series or ""), group)


def _draw_groups(metric: MetricChange, new: str) -> Markup | None:
    rows = _list_groups(metric, new)
    points = [_to_point(name, row, link) for name, row, link in rows]
    return draw_changes(points, title="Change by group, worst first") if points else None


def _list_groups(metric: MetricChange, new: str) -> list[tuple[str, Change, str]]:
    """Return the groups of a metric that are large enough to say something, worst change first."""
    return [
        (
            name_slice(row.slice, without=metric.series),
            row,
            _link_rate(new, metric, row),
        )
        for row in metric.slices
        if row.change is not None and row.items >= _LEAST_ITEMS
    ][:_MOST_GROUPS]


def _to_point(name: str, row: Change, link: str | None) -> Point:
    low, high = row.simultaneous_low, row.simultaneous_high
    return Point(name, row.change, low, high, alarm=row.direction == "worse", link=link)


# Which verdicts became which.


def _draw_flow(flow: VerdictFlow, base: str, new: str) -> Markup | None:
    if not flow.shared:
        return None
    bands = [
        FlowBand(one.base, one.new, one.claims, _link_flow(base, new, one.base, one.new))
        for one in flow.changes
    ]
    return draw_flow(
        bands,
        title="Which verdicts became which",
        ends=(form.clean(base), form.clean(new)),
        colours=panels.COLOURS,
    )


def _link_flow(base: str, new: str, before: str, after: str) -> str | None:
    if before == after:
        return None
    fields = {"base": base, "new": new, "from": before, "to": after}
    return f"/compare?{urlencode(fields)}#flipped"


def _tabulate_flow(
    flow: VerdictFlow, rows: Sequence[str], columns: Sequence[str], base: str, new: str
) -> list[tuple[str, list[FlowCell]]]:
    counted = {(one.base, one.new): one.claims for one in flow.changes}
    return [
        (
            before,
            [
                FlowCell(
                    counted.get((before, after), 0),
                    _link_flow(base, new, before, after),
                    before == after,
                )
                for after in columns
            ],
        )
        for before in rows
    ]


def _cut_flips(call: Call, flow: VerdictFlow, base: str, new: str) -> FlipPage:
    """Return the page of flipped claims that a link asks for."""
    before, after = call.query.get("from"), call.query.get("to")
    found = [one for one in flow.flips if before in (None, one.base) and after in (None, one.new)]
    asked = call.query.get("page", "1")
    last = max(1, -(-len(found) // PAGE))
    number = min(last, max(1, int(asked))) if asked.isascii() and asked.isdigit() else 1
    fields = {name: value for name, value in (("from", before), ("to", after)) if value}

    def link(page: int) -> str:
        query = {"base": base, "new": new, **fields, "page": page}
        return f"/compare?{urlencode(query)}#flipped"

    return FlipPage(
        found[(number - 1) * PAGE : number * PAGE],
        len(found),
        link(number - 1) if number > 1 else None,
        link(number + 1) if number < last else None,
    )


# Why a rate moved.


def want_drift(project: Project, base: str, new: str, metric: str) -> Wanted:
    """Return how to split the movement of a rate between two runs into its parts."""

    def measure(store: Store) -> Sequence[Drift]:
        found = find_metric(load_metrics(project.metrics_folder, project.citations), metric)
        with store.snapshot():
            pair = find_pair(store, base, new)
            by = project.config.metrics.by
            return explain_drift(store, found, pair, by, project.settings)

    return Wanted(("drift", base, new, metric), new, measure, others=(base,))


def show_drift(call: Call) -> Response:
    """Show why a rate moved between two runs: system, evidence, question mix, or judge."""
    chosen = choose_pair(call)
    metrics = list_metrics(
        load_metrics(call.project.metrics_folder, call.project.citations), "main"
    )
    asked = call.query.get("metric", "")
    metric = asked if asked in {one.name for one in metrics} else _DEFAULT_METRIC
    values: dict[str, Any] = {"shown": None, "problem": None, "found": None, "made_at": None}
    if chosen.base and chosen.new and chosen.base != chosen.new:
        wanted = want_drift(call.project, chosen.base, chosen.new, metric)
        values.update(_read_kept(read_figures(call, [wanted]), wanted))
    charts = [_draw_parts(drift) for drift in values["found"] or ()]
    return call.render(
        "drift.html",
        form=form,
        words=drift_report,
        chosen=chosen,
        metrics=metrics,
        metric=metric,
        charts=charts,
        name_causes=name_causes,
        **values,
    )


def name_causes(part: DriftPart) -> str:
    """Name what a part of a movement comes from; whoever judges is a judge in our words."""
    return " and ".join("judge" if cause == "instrument" else cause for cause in part.causes)


def _draw_parts(drift: Drift) -> Markup:
    """Draw the parts of a change, and the overall change last."""
    points = [
        Point(name_causes(part), part.change, part.low, part.high, form.clean(part.basis))
        for part in drift.parts
    ]
    whole = Point("overall change", drift.change, drift.low, drift.high)
    return draw_changes([*points, whole], title=f"Why {drift_report.name_drift(drift)} moved")


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("GET", "/compare", show_compare, "adjudicator"),
    PageRoute("GET", "/drift", show_drift, "adjudicator"),
)
