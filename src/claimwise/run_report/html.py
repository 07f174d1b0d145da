"""Writes a report as one self-contained HTML page: no script, no font, no picture from outside."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from claimwise.report import format as form
from claimwise.run_report import sentences
from claimwise.run_report.sentences import describe_trust
from claimwise.run_report.values import Report
from claimwise.types.results import Estimate, MetricTable

if TYPE_CHECKING:
    from jinja2 import Template


def render_html(report: Report) -> str:
    """Write a report as an HTML page."""
    return load_template("report.html.jinja").render(
        report=report,
        run_id=form.clean(report.run.get("run_id")),
        worst=sentences.describe_worst(report),
        notes=sentences.collect_notes(report.tables),
        measured=[table for table in report.tables if form.is_measured(table)],
        unmeasured=sentences.describe_unmeasured(report.tables),
    )


@cache
def load_template(name: str) -> Template:
    """Return a page's template; all pages share a style, filters and helpers."""
    # Imported here because no other format needs it, and commands should start fast.
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=FunctionLoader(_read_template),
    )
    environment.filters.update(_filters())
    environment.globals.update(
        say=sentences,
        form=form,
        missing=form.MISSING,
        quadrant=form.QUADRANT,
        side_by_side=_side_by_side,
        describe_trust=describe_trust,
        unscored_of=_unscored_of,
    )
    return environment.get_template(name)


def _read_template(name: str) -> str:
    return files("claimwise.run_report").joinpath("templates", name).read_text("utf-8")


def _filters() -> dict[str, Any]:
    return {
        "rate": form.show_rate,
        "number": form.show_number,
        "count": form.show_count,
        "clean": form.clean,
        "value": form.clean_value,
        "interval": lambda row: form.show_interval(row.low, row.high),
        "macro_interval": lambda row: form.show_interval(row.macro_low, row.macro_high),
        "bounds": lambda row: form.show_interval(row.bound_low, row.bound_high),
        "simultaneous": lambda row: form.show_interval(row.simultaneous_low, row.simultaneous_high),
        # Plots are drawn 0 to 100 wide, whatever their size on the page.
        "place": lambda share: f"{share * 100:.2f}",
    }


def _side_by_side(table: MetricTable) -> list[tuple[Estimate, list[Estimate | None]]]:
    """Return each slice once, with its estimates in the order of the series."""
    members = form.members_of(table)
    return [
        (one, [found.get(member) for member in members]) for one, found in form.pair_slices(table)
    ]


def _unscored_of(table: MetricTable, rows: list[Estimate | None]) -> int:
    """Count what a slice leaves unscored; shares of one whole leave the same unscored."""
    found = [row.unscored for row in rows if row]
    return sum(found) if form.is_pair(table) else max(found)
