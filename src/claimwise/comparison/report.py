"""Shows how two runs differ: on a terminal, as Markdown, HTML and JSON.

Questions, claims and spans were written by others: nothing here reads markup, and what could
steer a terminal or a reader is replaced.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from math import ceil
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console
from rich.table import Table

from claimwise.calibration.headline import Headline
from claimwise.comparison.values import (
    Change,
    ComparedHeadline,
    Comparison,
    MetricChange,
    MovedItem,
    ShownClaim,
)
from claimwise.report.changes import (
    describe_one_sided,
    describe_side,
    name_slice,
    show_change,
    show_change_range,
)
from claimwise.report.columns import Column, Writer
from claimwise.report.format import (
    EVERY,
    clean,
    clean_value,
    generalize_warning,
    name_in_words,
    plural_of,
    pluralize,
    show_count,
    show_exact_percent,
    show_percent,
    show_percent_range,
)
from claimwise.report.judges import describe_judge, judge_to_document
from claimwise.report.markdown import escape, write_bullets, write_table
from claimwise.run_report.html import load_template
from claimwise.run_report.sentences import describe_policy
from claimwise.run_report.summary_text import (
    describe_change as describe_headline_change,
)
from claimwise.run_report.summary_text import (
    describe_next,
    name_basis,
    name_headline,
)

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
_QUOTE: Final = 200
_NARROW: Final = 90  # cells; below, a table shows the changes alone
_STYLES: Final = {"worse": "bold red", "better": "bold green", "changed": "bold", "unclear": ""}
_SIGNS: Final = {
    "supported": "✓", "true": "✓", "unlinked": "○", "unverifiable": "○", "overreach": "△",
    "contradicted": "✗", "false": "✗", "stale": "◷",
}  # fmt: skip
READING: Final = (
    "Changes are in percentage points, over the items that both runs were asked, paired by item; "
    "claims need not match. Groups are sorted by change, worst first. Their ranges are adjusted "
    "for the number of groups, so they hold for the whole table at once. A change is clear if its "
    "range excludes zero."
)


def describe_clear(comparison: Comparison) -> list[tuple[str, list[str]]]:
    """List what clearly moved, the worse first; "nothing" where nothing did."""
    found: list[tuple[str, list[str]]] = []
    for word in ("worse", "better"):
        lines = [
            f"{name_rate(metric, row)}, {name_slice(row.slice, without=metric.series)}: "
            f"{describe_metric_change(row)}"
            for metric in comparison.metrics
            for row in (*metric.overall, *metric.slices)
            if row.direction == word
        ]
        found.append((f"Clearly {word}", lines or ["nothing"]))
    return found


def describe_metric_change(row: Change) -> str:
    """Write both rates, and their change in percentage points with its range."""
    rates = f"{show_percent(row.base)} to {show_percent(row.new)}"
    if row.change is None:
        return rates
    band = show_change_range(row.simultaneous_low, row.simultaneous_high)
    return f"{rates}, {show_change(row.change)} points ({band})"


def name_rate(metric: MetricChange, row: Change) -> str:
    """Return the name of the rate that a row is about."""
    return name_in_words(row.slice.get(metric.series or "") or metric.title)


def describe_setting(comparison: Comparison) -> str:
    """Say in one line how the figures were made."""
    confidence = show_exact_percent(comparison.settings.confidence)
    return (
        f"{confidence} ranges over {pluralize(comparison.shared, 'shared item')}, paired. "
        f"{describe_policy(comparison.settings)}"
    )


def describe_headlines(comparison: Comparison) -> list[tuple[str, str]]:
    """List the one rate of either run, how it moved, what both rest on, and what would help."""
    pair = comparison.headline
    sides = list(zip((pair.base, pair.new), _list_ids(comparison), strict=True))
    steps = [describe_next(one, run_id) for one, run_id in sides if one.basis == "judge_only"]
    return [
        (name_headline(pair.new), _describe_rates(pair)),
        ("Basis", _describe_bases(sides)),
        *(("Next", step) for step in steps[-1:] if step),
    ]


def _list_ids(comparison: Comparison) -> list[str | None]:
    return [run["run_id"] for run in (comparison.base, comparison.new)]


def describe_compared_judges(comparison: Comparison) -> list[str]:
    """Say of every judge what it is, which figures rest on it, and how far it can be trusted."""
    measured = [metric for metric in comparison.metrics if metric.is_measured]
    return [
        describe_judge(
            judge,
            [
                name_in_words(metric.title)
                for metric in measured
                if judge.labeler in {*metric.base_judges, *metric.new_judges}
            ],
        )
        for judge in comparison.judges
    ]


def list_first_lines(comparison: Comparison) -> list[tuple[str, str]]:
    """List what stands before every table: the headlines, and the judges of all figures."""
    judges = [("Judge", text) for text in describe_compared_judges(comparison)]
    return [*describe_headlines(comparison), *judges]


def _describe_rates(pair: ComparedHeadline) -> str:
    rates = " to ".join(_describe_rate(one) for one in (pair.base, pair.new))
    if pair.change is None:
        return rates
    return f"{rates}; {describe_headline_change(pair.change, names_since=False)}"


def _describe_rate(one: Headline) -> str:
    if one.rate is None:
        return "not measured"
    band = "no range" if one.low is None else show_percent_range(one.low, one.high)
    return f"{show_percent(one.rate)} ({band})"


def _describe_bases(sides: Sequence[tuple[Headline, str | None]]) -> str:
    told = [name_basis(one) for one, _ in sides]
    if told[0] == told[1]:
        return f"both runs: {told[0]}"
    return "; ".join(
        f"{clean(run_id)}: {text}" for (_, run_id), text in zip(sides, told, strict=True)
    )


def describe_metric_judges(metric: MetricChange) -> str:
    """Say which judges' verdicts a metric counts in either run; nothing where it counts none."""
    sides = [
        " and ".join(map(clean, judges)) or "people"
        for judges in (metric.base_judges, metric.new_judges)
    ]
    if sides == ["people", "people"]:
        return ""
    if sides[0] == sides[1]:
        return f"By {sides[0]} alone."
    return f"By {sides[0]} in the baseline, by {sides[1]} in the new run."


def describe_sides(comparison: Comparison) -> list[str]:
    """Say which items only one of the runs was asked."""
    pairs = ((comparison.base, comparison.only_base), (comparison.new, comparison.only_new))
    if not comparison.only_base and not comparison.only_new:
        return ["Both runs were asked the same items."]
    return [describe_one_sided(run, ids) for run, ids in pairs if ids]


def describe_missing_rates(comparison: Comparison) -> str:
    """List the metrics that one of the runs has no rate of; empty when there are none."""
    names = [name_in_words(metric.title) for metric in comparison.metrics if not metric.is_measured]
    return ", ".join(names)


def describe_moved(item: MovedItem) -> str:
    """Say what an item adds to the change, and its counts in both runs."""
    return (
        f"{show_change(item.contribution)} points ({_share(item.base_hits, item.base_units)} to "
        f"{_share(item.new_hits, item.new_units)})"
    )


def _share(hits: float, units: float) -> str:
    return f"{show_count(hits)} of {show_count(units)}"


def reproduce_comparison(comparison: Comparison) -> str:
    """Return the command that gives the comparison again."""
    runs = (comparison.base["run_id"] or "", comparison.new["run_id"] or "")
    names = " ".join(f"--metric {metric.metric}" for metric in comparison.metrics)
    by = shlex.quote(",".join(comparison.by))
    return (
        f"claimwise compare {' '.join(map(shlex.quote, runs))} {names} --by {by} "
        f"--store {shlex.quote(comparison.store)}"
    )


class _Figure(NamedTuple):
    """A column of a table of changes."""

    header: str
    right: bool
    cells: list[str]


def _figures(metric: MetricChange, rows: Sequence[Change]) -> list[_Figure]:
    names = [*([metric.series] if metric.series else []), *(metric.by if metric.slices else ())]
    slices = [
        _Figure(
            clean(name),
            False,
            [clean_value(row.slice[name]) if name in row.slice else EVERY for row in rows],
        )
        for name in names
    ] or [_Figure("", False, ["overall"] * len(rows))]
    unit = plural_of(metric.unit)
    return [
        *slices,
        _Figure("baseline", True, [show_percent(row.base) for row in rows]),
        _Figure("new", True, [show_percent(row.new) for row in rows]),
        _Figure("change", True, [show_change(row.change) for row in rows]),
        _Figure(
            "range",
            False,
            [show_change_range(row.simultaneous_low, row.simultaneous_high) for row in rows],
        ),
        _Figure("", False, [row.direction if row.change is not None else "" for row in rows]),
        _Figure("items", True, [show_count(row.items) for row in rows]),
        _Figure(
            unit, True, [f"{show_count(r.base_claims)}/{show_count(r.new_claims)}" for r in rows]
        ),
        _Figure(
            "unscored",
            True,
            [f"{show_count(r.base_unscored)}/{show_count(r.new_unscored)}" for r in rows],
        ),
    ]


def _rows(metric: MetricChange) -> list[Change]:
    return [*metric.overall, *metric.slices]


def list_notes(metric: MetricChange) -> list[str]:
    """Return the warnings of a metric's rows, each once."""
    texts = [generalize_warning(text) for row in _rows(metric) for text in row.warnings]
    texts += [
        _describe_bounds(metric, row)
        for row in metric.overall
        if row.change is not None and row.base_unscored + row.new_unscored
    ]
    return list(dict.fromkeys(texts))


def _describe_bounds(metric: MetricChange, row: Change) -> str:
    between = show_change_range(row.bound_low, row.bound_high)
    return f"Whatever the unscored are, {name_rate(metric, row)} changes by {between} points."


def print_comparison(comparison: Comparison, console: Console) -> None:
    """Print a comparison: what clearly moved, the metrics, the items that moved most."""
    writer = Writer(console)
    base, new = (clean(run["run_id"]) for run in (comparison.base, comparison.new))
    writer.say(f"{base} to {new}", "bold")
    for name, run in ((base, comparison.base), (new, comparison.new)):
        known = " · ".join(f"{field} {value}" for field, value in describe_side(run))
        writer.say(f"{name}: {known}")
    for number, (name, text) in enumerate(list_first_lines(comparison)):
        writer.say(f"{name}: {text}", "" if number else "bold")
    writer.say(describe_setting(comparison), "dim")
    for line in describe_sides(comparison):
        writer.say(line)
    for warning in comparison.warnings:
        writer.say(f"! {clean(warning)}", "yellow")
    writer.skip()
    for title, lines in describe_clear(comparison):
        writer.say(f"{title}: {'; '.join(lines)}", "bold")
    for metric in comparison.metrics:
        if metric.is_measured:
            _print_metric(writer, metric)
    missing = describe_missing_rates(comparison)
    if missing:
        writer.skip()
        writer.say(f"Not measured in both runs: {missing}")
    _print_moved(writer, comparison)
    writer.skip()
    writer.say(READING, "dim")


def _print_metric(writer: Writer, metric: MetricChange) -> None:
    rows = _rows(metric)
    writer.skip()
    writer.say(clean(metric.title), "bold")
    if describe_metric_judges(metric):
        writer.say(describe_metric_judges(metric), indent=2)
    styles = [_STYLES[row.direction] for row in rows]
    figures = _figures(metric, rows)
    if writer.width < _NARROW:
        last = [figure.header for figure in figures].index("range")
        figures = figures[: last + 1]
    writer.put_columns([
        Column(
            header=figure.header,
            cells=figure.cells,
            right=figure.right,
            least=None if figure.right or figure.header == "range" else 8,
            styles=styles if figure.header in ("change", "") else (),
        )
        for figure in figures
    ])  # fmt: skip
    for note in list_notes(metric):
        writer.say(note, "dim", indent=2)


def _print_moved(writer: Writer, comparison: Comparison) -> None:
    if not comparison.moved:
        return
    writer.skip()
    writer.say(f"Items that moved {name_in_words(comparison.moved_metric or '')} most", "bold")
    for item in comparison.moved:
        writer.skip()
        writer.say(f"{clean(item.item_id)}  {describe_moved(item)}", "bold", indent=2)
        writer.say(_quote(item.question), indent=2)
        grid = Table.grid(padding=(0, 2, 0, 0))
        for _ in (0, 1):
            grid.add_column(width=max(10, (writer.width - 6) // 2), overflow="fold")
        heads = [
            f"{clean(run['run_id'])}{f' ({clean(action)})' if action else ''}"
            for run, action in ((comparison.base, item.base_action),
                                (comparison.new, item.new_action))
        ]  # fmt: skip
        grid.add_row(*(writer.text(head, "dim") for head in heads))
        for pair in item.claims:
            grid.add_row(
                *(writer.text(describe_shown_claim(claim) if claim else "") for claim in pair)
            )
        writer.put(grid)


def describe_shown_claim(claim: ShownClaim) -> str:
    """Write a claim with its verdict and its evidence on one line."""
    sign = _SIGNS.get(claim.verdict or "", "?")
    word = clean(claim.verdict) if claim.verdict else f"not scored ({clean(claim.reason)})"
    evidence = ""
    if claim.span:
        source = f"{clean(claim.source_id)} " if claim.source_id else ""
        evidence = f" [{source}“{_quote(claim.span)}”]"
    return f"{sign} {word}: {_quote(claim.text)}{evidence}"


def _quote(text: str) -> str:
    shown = clean(text)
    return shown if len(shown) <= _QUOTE else f"{shown[: _QUOTE - 1]}…"


def render_comparison_markdown(comparison: Comparison) -> str:
    """Write a comparison as GitHub-flavoured Markdown."""
    base, new = (escape(run["run_id"] or "") for run in (comparison.base, comparison.new))
    runs = [
        [name, *(value for _, value in describe_side(run))]
        for name, run in (("baseline", comparison.base), ("new", comparison.new))
    ]
    headers = ["", *(field for field, _ in describe_side(comparison.base))]
    parts = [
        f"# {base} to {new}",
        write_table(headers, runs, text=range(len(headers))),
        write_bullets(
            f"**{name}**: {escape(text)}" for name, text in list_first_lines(comparison)
        ),
        escape(describe_setting(comparison)),
        write_bullets([
            *map(escape, describe_sides(comparison)),
            *(f"**Warning:** {escape(warning)}" for warning in comparison.warnings),
        ]),
        *_write_clear(comparison),
        *(part for m in comparison.metrics if m.is_measured for part in _write_metric(m)),
        f"Not measured in both runs: {escape(describe_missing_rates(comparison))}"
        if describe_missing_rates(comparison)
        else "",
        *_write_moved(comparison),
        READING,
    ]  # fmt: skip
    return "\n\n".join(part for part in parts if part) + "\n"


def _write_clear(comparison: Comparison) -> Iterator[str]:
    for title, lines in describe_clear(comparison):
        yield f"**{title}:** {escape('; '.join(lines))}"


def _write_metric(metric: MetricChange) -> Iterator[str]:
    rows = _rows(metric)
    figures = _figures(metric, rows)
    cells = list(zip(*(figure.cells for figure in figures), strict=True))
    yield f"## {escape(metric.title)}"
    if describe_metric_judges(metric):
        yield escape(describe_metric_judges(metric))
    yield write_table(
        [figure.header for figure in figures],
        cells,
        text=[number for number, figure in enumerate(figures) if not figure.right],
        strong=[row.direction == "worse" for row in rows],
    )
    yield write_bullets(map(escape, list_notes(metric)))


def _write_moved(comparison: Comparison) -> Iterator[str]:
    if comparison.moved:
        yield f"## Items that moved {escape(name_in_words(comparison.moved_metric or ''))} most"
    for item in comparison.moved:
        yield f"### {escape(item.item_id)} {escape(describe_moved(item))}"
        yield escape(_quote(item.question))
        heads = [
            f"{run['run_id']}{f' ({action})' if action else ''}"
            for run, action in ((comparison.base, item.base_action),
                                (comparison.new, item.new_action))
        ]  # fmt: skip
        rows = [[describe_shown_claim(c) if c else "" for c in pair] for pair in item.claims]
        yield write_table(heads, rows, text=(0, 1))


def render_comparison_html(comparison: Comparison) -> str:
    """Write a comparison as one self-contained HTML page."""
    measured = [metric for metric in comparison.metrics if metric.is_measured]
    return load_template("compare.html.jinja").render(
        comparison=comparison,
        measured=measured,
        lead=measured[0],
        rows_of=_rows,
        page=_PAGE,
    )


class _Page:
    """What the template calls."""

    READING = READING
    first_lines = staticmethod(list_first_lines)
    judged = staticmethod(describe_metric_judges)
    clear = staticmethod(describe_clear)
    setting = staticmethod(describe_setting)
    sides = staticmethod(describe_sides)
    unmeasured = staticmethod(describe_missing_rates)
    moved = staticmethod(describe_moved)
    notes = staticmethod(list_notes)
    reproduce_comparison = staticmethod(reproduce_comparison)
    describe_side = staticmethod(describe_side)
    name_rate = staticmethod(name_rate)
    change = staticmethod(show_change)
    change_range = staticmethod(show_change_range)
    percent = staticmethod(show_percent)

    @staticmethod
    def sign(claim: ShownClaim) -> str:
        """Return the sign of a claim's verdict."""
        return _SIGNS.get(claim.verdict or "", "?")

    @staticmethod
    def scale(rows: Iterable[Change]) -> float:
        """Return how far the axis of a table's plots runs to either side of zero."""
        ends = [abs(end) for row in rows for end in (row.simultaneous_low, row.simultaneous_high)
                if end is not None]  # fmt: skip
        return min(1.0, ceil(10 * max([0.1, *ends])) / 10)

    @staticmethod
    def place(value: float, scale: float) -> str:
        """Return where a change lies on an axis 100 wide, zero in the middle."""
        return f"{50 + 50 * max(-1.0, min(1.0, value / scale)):.2f}"


_PAGE: Final = _Page()


def to_comparison_document(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as plain values for JSON: docs/compare.md lists the fields."""
    return {
        "format": FORMAT,
        **msgspec.to_builtins(comparison),
        "judges": [judge_to_document(judge) for judge in comparison.judges],
        "next": dict(describe_headlines(comparison)).get("Next"),
    }
