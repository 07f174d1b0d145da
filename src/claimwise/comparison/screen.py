"""What one screen says about two runs: how the rates moved, the worst groups, flipped verdicts."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import Final, NamedTuple

from claimwise.calibration.headline import METRIC_OF
from claimwise.comparison.report import describe_compared_judges, describe_headlines, name_rate
from claimwise.comparison.values import Change, Comparison, MetricChange, ShownClaim
from claimwise.report.changes import name_slice
from claimwise.report.format import clean, pluralize, show_percent, show_points
from claimwise.report.markdown import escape, write_bullets
from claimwise.report.screen import MARGIN, MOST_LINES, cut_line, wrap_lines, write_row

MOST_GROUPS: Final = 3
MOST_FLIPS: Final = 5
_SUPPORTED: Final = ("supported", "true")
_LEAST_ITEMS: Final = 5  # of a group: fewer say next to nothing


class Flip(NamedTuple):
    """A claim of both runs with another verdict in the new one."""

    item_id: str
    base: ShownClaim
    new: ShownClaim

    def __str__(self) -> str:
        return (
            f"{clean(self.base.verdict)} → {clean(self.new.verdict)}: “{clean(self.new.text)}” "
            f"({clean(self.item_id)})"
        )


def list_flips(comparison: Comparison) -> list[Flip]:
    """Return the flipped verdicts of the items that moved most, those that got worse first."""
    found = [
        Flip(item.item_id, base, new)
        for item in comparison.moved
        for base, new in item.claims
        if base and new and base.verdict and new.verdict and base.verdict != new.verdict
    ]
    return sorted(found, key=lambda flip: flip.new.verdict in _SUPPORTED)


def describe_points(row: Change) -> str:
    """Write both rates, their change in percentage points with its range, and what that says."""
    rates = f"{show_percent(row.base)} to {show_percent(row.new)}"
    if row.change is None or row.simultaneous_low is None or row.simultaneous_high is None:
        return f"{rates}, not measured in both runs"
    low, high = show_points(row.simultaneous_low), show_points(row.simultaneous_high)
    return f"{rates}: {show_points(row.change)} ({low} to {high}), {row.direction}"


def list_screen_rows(comparison: Comparison) -> Iterator[tuple[str, list[str]]]:
    """Yield what the screen says, each part with its name."""
    measured = [metric for metric in comparison.metrics if metric.is_measured]
    yield from ((name, [text]) for name, text in describe_headlines(comparison))
    others = [
        f"{name_rate(metric, row)} {describe_points(row)}"
        for metric in measured
        for row in metric.overall
        if row.change is not None
        and row.better is not None
        and metric.metric != _find_shown(comparison)
    ]
    if others:
        yield "Change", others
    yield from (("Judge", [text]) for text in describe_compared_judges(comparison))
    groups = _list_worst_groups(measured[0]) if measured else []
    if groups:
        yield "Worst groups", groups
    flips = list_flips(comparison)
    if flips:
        yield "Flipped", [str(flip) for flip in flips[:MOST_FLIPS]]
    yield from (("Warning", [clean(warning)]) for warning in comparison.warnings)
    runs = " ".join(shlex.quote(run["run_id"] or "") for run in (comparison.base, comparison.new))
    yield "More", [f"claimwise compare {runs} --full"]


def _find_shown(comparison: Comparison) -> str | None:
    """Return the metric whose change the headline is; None where that one can't be compared."""
    found = comparison.headline.change
    measured = found is not None and found.change is not None
    return METRIC_OF[comparison.headline.new.judgement] if measured else None


def _list_worst_groups(metric: MetricChange) -> list[str]:
    """Return the groups of a metric that fell most, worst first."""
    fallen = [
        row
        for row in metric.slices
        if row.change
        and row.better
        and (row.change < 0) == (row.better == "higher")
        and row.items >= _LEAST_ITEMS
    ]
    return [
        f"{name_slice(row.slice, without=metric.series)} {describe_points(row)}"
        for row in fallen[:MOST_GROUPS]
    ]


def name_runs(comparison: Comparison) -> str:
    """Name the runs, and say how many items they share and what changes are counted in."""
    base, new = (clean(run["run_id"]) for run in (comparison.base, comparison.new))
    shared = pluralize(comparison.shared, "shared item")
    return f"{base} to {new}, {shared}; changes in points"


def format_comparison(comparison: Comparison, width: int = 80) -> str:
    """Write one screen about two runs as plain text: at most 25 lines."""
    room = max(20, width - MARGIN)
    lines = write_row("Runs", [cut_line(name_runs(comparison), room)])
    for name, told in list_screen_rows(comparison):
        if name == "Flipped":  # claims are long: they take the whole width
            lines += [f"{name:<{MARGIN}}verdicts of items that moved most"]
            lines += [cut_line(f"  {text}", width) for text in told]
            continue
        most = 1 if name in ("Change", "Worst groups", "More") else 2
        lines += write_row(name, [part for text in told for part in wrap_lines(text, room, most)])
    return "\n".join([*lines[: MOST_LINES - 1], lines[-1]] if len(lines) > MOST_LINES else lines)


def render_screen_markdown(comparison: Comparison) -> str:
    """Write one screen about two runs as Markdown."""
    parts = [f"# {escape(name_runs(comparison))}"]
    for name, told in list_screen_rows(comparison):
        is_code = name == "More" and "`" not in told[0]
        lines = [f"`{text}`" if is_code else escape(text) for text in told]
        parts.append(f"**{name}**: {lines[0]}" if len(lines) == 1 else f"**{name}**")
        parts += [write_bullets(lines)] if len(lines) > 1 else []
    return "\n\n".join(parts) + "\n"
