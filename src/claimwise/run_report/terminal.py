"""Prints reports and metrics on a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from claimwise.calibration.headline import Headline
from claimwise.report.columns import FOREST_WIDTH, Column, Writer, print_screen
from claimwise.report.format import (
    MISSING,
    QUADRANT,
    Notes,
    agreement_text,
    clean,
    forest_of,
    is_division,
    is_measured,
    is_pair,
    members_of,
    overall_of,
    pair_slices,
    plural_of,
    pluralize,
    share_cells,
    show_count,
    show_difference,
    show_number,
    show_percent,
    show_percent_range,
    show_rate,
    slice_cell,
    slice_columns,
)
from claimwise.report.screen import MARGIN, wrap_lines, write_row
from claimwise.run_report.sentences import (
    READING,
    READING_PLOTS,
    WorstText,
    describe_answers,
    describe_counts,
    describe_judge_summary,
    describe_labels,
    describe_meaning,
    describe_precision,
    describe_report_run,
    describe_settings,
    describe_slice_bounds,
    describe_slices,
    describe_trust,
    describe_unmeasured,
    describe_unscored_claims,
    describe_worst,
    find_gaps,
    find_reference,
    is_clearly_worse,
    name_kind,
    no_worst,
    reproduce,
)
from claimwise.run_report.summary_text import describe_headline, format_summary
from claimwise.run_report.values import Report, Summary
from claimwise.types.results import Estimate, JudgeNote, MetricTable

MOST_SLICES: Final = 10  # of a metric in a report; `claimwise metrics` prints them all
_SHARE: Final = len("88.8% (88.8–88.8%)")  # so that the plots of metrics stand in one column
_WIDE: Final = 120
_ROOMY: Final = 100  # wide enough for a column of bounds beside the plots


def print_report(report: Report, console: Console) -> None:
    """Print a report: the worst slice first, then what was not scored, who judged, the metrics."""
    writer = Writer(console)
    notes = Notes()
    _print_header(writer, report)
    _print_worst(writer, report)
    _print_gaps(writer, report)
    _print_instruments(writer, report)
    writer.skip()
    writer.say("Metrics", "bold")
    writer.say(f"{READING} {READING_PLOTS}", "dim", indent=2)
    for table in filter(is_measured, report.tables):
        _print_metric(writer, table, notes, most=MOST_SLICES, headline=report.headline)
    _print_unmeasured(writer, report.tables)
    _print_notes(writer, notes)
    writer.skip()
    writer.say("Reproduce these figures", "bold")
    for command, purpose in reproduce(report):
        writer.write_whole(f"  {command}  # {purpose}")


def print_summary(summary: Summary, console: Console) -> None:
    """Print one screen about a run, the names of its lines bold."""
    print_screen(format_summary(summary, min(console.width, _ROOMY)), console)


def print_tables(
    tables: Sequence[MetricTable],
    console: Console,
    headlines: Mapping[str, Headline] | None = None,
    judges: Sequence[JudgeNote] = (),
) -> None:
    """Print metrics of one run or several with all of their slices, each run's one rate first."""
    writer = Writer(console)
    notes = Notes()
    for number, (run_id, group) in enumerate(groupby(tables, key=lambda table: table.run_id)):
        of_run = list(group)
        headline = (headlines or {}).get(run_id)
        if number:
            writer.skip()
        writer.say(f"Run {clean(run_id)}", "bold")
        if headline is not None:
            _print_headline(writer, describe_headline(headline, judges, of_run, run_id))
        writer.say(describe_settings(of_run[0].settings), "dim")
        for table in filter(is_measured, of_run):
            _print_metric(writer, table, notes, most=None, headline=headline)
        _print_unmeasured(writer, of_run)
    _print_notes(writer, notes)


def _print_headline(writer: Writer, told: Sequence[tuple[str, str]]) -> None:
    for name, text in told:
        for line in write_row(name, wrap_lines(text, max(20, writer.width - MARGIN), 3)):
            writer.write_whole(line)


def _print_header(writer: Writer, report: Report) -> None:
    run_id = report.run.get("run_id")
    writer.say(f"Report on run {clean(run_id)}", "bold")
    writer.say(" · ".join(f"{name} {value}" for name, value in describe_report_run(report)))
    told = describe_headline(report.headline, report.judges, report.tables, run_id)
    _print_headline(writer, told)
    writer.say(describe_settings(report.settings), "dim")


def _print_worst(writer: Writer, report: Report) -> None:
    found = describe_worst(report)
    writer.skip()
    if not found:
        writer.say(f"Worst group: {no_worst(report)}", "bold")
        return
    writer.say(f"Worst group: {found[0]}", "bold red" if found[0].stands_out else "bold yellow")
    writer.say(found[0].explanation, indent=2)
    if len(found) > 1:
        writer.skip()
        writer.say("Worst groups of the other metrics", "dim", indent=2)
        writer.put_columns(_worst_columns(found[1:]))


def _worst_columns(found: Sequence[WorstText]) -> list[Column]:
    styles = ["bold red" if worst.stands_out else "" for worst in found]
    judgements = [worst.judgement for worst in found]
    return [
        Column(header="metric", cells=[worst.metric for worst in found]),
        Column(header="rate", cells=[worst.rate for worst in found], right=True, styles=styles),
        Column(header="adjusted range", cells=[worst.interval for worst in found]),
        Column(header="overall", cells=[worst.overall for worst in found], right=True),
        Column(header="group", cells=[worst.where for worst in found], least=8),
        Column(header="difference", cells=judgements),
    ]


def _print_gaps(writer: Writer, report: Report) -> None:
    writer.skip()
    writer.say("Not scored", "bold")
    writer.say(describe_unscored_claims(report), indent=2)
    if describe_answers(report):
        writer.say(describe_answers(report), indent=2)
    for warning in report.warnings:
        writer.say(f"! {clean(warning)}", "yellow", indent=2)
    gaps = [(gap.title, gap.row) for gap in find_gaps(report)]
    if gaps:
        writer.skip()
        writer.put_columns([
            Column(header="", cells=[title for title, _ in gaps], least=8),
            Column(header="asked", cells=[show_count(row.asked) for _, row in gaps], right=True),
            Column(header="unscored", cells=[show_count(r.unscored) for _, r in gaps], right=True),
            Column(header="rate", cells=[show_percent(row.micro) for _, row in gaps], right=True),
            Column(header="bounds",
                   cells=[show_percent_range(row.bound_low, row.bound_high) for _, row in gaps]),
        ])  # fmt: skip


def _print_instruments(writer: Writer, report: Report) -> None:
    writer.skip()
    writer.say("Judges and labelers", "bold")
    if not report.instruments:
        writer.say("Nobody has labelled this run.", indent=2)
        return
    rows = report.instruments
    writer.put_columns([
        Column(header="labeler", cells=[clean(row.labeler) for row in rows], least=16),
        Column(header="kind", cells=[name_kind(row) for row in rows]),
        Column(header="deciding\nlabels", right=True,
               cells=[show_count(row.deciding_labels) for row in rows]),
        Column(header="agreement with people", cells=[agreement_text(row) for row in rows]),
    ])  # fmt: skip
    for row in rows:
        if describe_judge_summary(row) != MISSING:
            writer.say(f"{clean(row.labeler)}: {describe_judge_summary(row)}", "dim", indent=2)
    for line in describe_trust(report):
        writer.say(line, indent=2)


def _print_unmeasured(writer: Writer, tables: Sequence[MetricTable]) -> None:
    missing = describe_unmeasured(tables)
    if missing:
        writer.skip()
        writer.say(f"Not measured: {missing}")


def _print_notes(writer: Writer, notes: Notes) -> None:
    if notes.listed():
        writer.skip()
    for mark, text in notes.listed():
        writer.say(f"{mark}  {text}", "dim")


def _print_metric(
    writer: Writer,
    table: MetricTable,
    notes: Notes,
    *,
    most: int | None,
    headline: Headline | None,
) -> None:
    writer.skip()
    writer.say(clean(table.title), "bold")
    if table.metric == "quadrant":
        _print_quadrant(writer, table, notes)
    elif is_division(table):
        _print_division(writer, table, notes)
    else:
        _print_overall(writer, table, notes)
    whose = describe_labels(table, headline)
    if whose:
        writer.say(whose, indent=2)
    writer.say(describe_meaning(table), "dim", indent=2)
    # In a report a share of the whole needs no rows of its own for every slice.
    if table.slices and not (is_division(table) and most is not None):
        _print_slices(writer, table, notes, most)


def _print_overall(writer: Writer, table: MetricTable, notes: Notes) -> None:
    blocks = [_set_block(writer, table, member, notes) for member in members_of(table)]
    if not is_pair(table):
        for block in blocks:
            writer.put(block)
        return
    grid = Table.grid(padding=(0, 2, 0, 0))
    for _ in blocks:
        grid.add_column(width=_half(writer))
    grid.add_row(*blocks)
    writer.put(grid)


def _half(writer: Writer) -> int:
    """Return the width of one of two blocks that stand side by side."""
    return max(30, (writer.width - 4) // 2)


def _set_block(writer: Writer, table: MetricTable, member: str | None, notes: Notes) -> Text:
    """Set the overall estimate of one rate in a few lines."""
    row = overall_of(table, member)
    lines = []
    if member is not None:
        better = f" ({row.better} is better)" if row and row.better else ""
        lines.append(writer.text(f"{clean(member)}{better}", "bold"))
    note = [writer.text(clean(table.notes[member]))] if member in table.notes else []
    if row is None or row.micro is None:
        return Text("\n").join([*lines, writer.text(f"{MISSING} not measured"), *note])
    rate = f"{show_rate(row.micro, row.low, row.high):<{_SHARE}} "
    marks = writer.text(f" {notes.marks(row)}", "dim")
    room = _half(writer) - len(rate) - len(marks) if is_pair(table) else FOREST_WIDTH
    forest = writer.draw_forest(forest_of(row), max(1, min(FOREST_WIDTH, room)))
    return Text("\n").join([
        *lines,
        writer.text(rate, "bold") + forest + marks,
        *note,
        writer.text(describe_counts(row, table.unit)),
        writer.text(describe_precision(row), "dim"),
    ])  # fmt: skip


def _print_division(writer: Writer, table: MetricTable, notes: Notes) -> None:
    """Print shares of one whole: a bar of all, then each with what it means."""
    rows = list(table.overall)
    cells = share_cells([row.micro or 0.0 for row in rows], min(60, writer.width - 4))
    names = [clean(row.slice.get(table.series or "")) for row in rows]
    writer.put(writer.draw_division(cells))
    writer.put_columns([
        Column(header="", cells=[writer.shade(number) for number in range(len(rows))]),
        Column(header=clean(table.series), cells=names, least=8),
        Column(header=plural_of(table.unit), right=True,
               cells=[show_count(row.numerator) for row in rows]),
        *_rate_columns(rows, simultaneous=False),
        *_precision_columns(rows),
        _mark_column(rows, notes),
    ])  # fmt: skip
    writer.say(describe_counts(rows[0], table.unit, bounds=False), indent=2)
    for name in names:
        if name in table.notes:
            writer.say(f"{name}: {clean(table.notes[name])}", "dim", indent=2)


def _print_quadrant(writer: Writer, table: MetricTable, notes: Notes) -> None:
    """Print the two by two, and what each cell says is at fault."""
    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for header in ("", "correct", "wrong"):
        grid.add_column(header)
    for name, cells in QUADRANT.items():
        grid.add_row(Text(name, "bold"), *(_set_cell(writer, table, cell) for cell in cells))
    writer.put(grid)
    writer.skip()
    rows = table.overall
    names = [clean(row.slice.get(table.series or "")) for row in rows]
    macro = Column(header="macro", cells=[show_percent(row.macro) for row in rows], right=True)
    writer.put_columns([
        Column(header=clean(table.series), cells=names, least=8),
        macro, *_precision_columns(rows), _mark_column(rows, notes),
    ])  # fmt: skip
    writer.say(describe_counts(rows[0], table.unit, bounds=False), indent=2)


def _set_cell(writer: Writer, table: MetricTable, member: str) -> Text:
    row = overall_of(table, member)
    note = writer.text(clean(table.notes.get(member, "")), "dim")
    if row is None:
        return writer.text(f"{MISSING}\n") + note
    share = show_rate(row.micro, row.low, row.high)
    counted = writer.text(f"\n{pluralize(row.numerator, table.unit)}\n")
    return writer.text(share, "bold") + counted + note


def _print_slices(writer: Writer, table: MetricTable, notes: Notes, most: int | None) -> None:
    writer.skip()
    writer.say(describe_slices(table), "dim", indent=2)
    if is_pair(table):
        pairs = pair_slices(table)
        writer.put_columns(_pair_columns(table, pairs[:most]))
        _write_bounds(writer, [row for _, pair in pairs[:most] for row in pair.values()])
        hidden = len(pairs[most:]) if most else 0
    else:
        rows = table.slices[:most]
        writer.put_columns(_slice_columns(table, rows, notes, width=writer.width))
        if writer.width < _ROOMY and not is_division(table):
            _write_bounds(writer, rows)
        hidden = len(table.slices) - len(rows)
    if hidden:
        command = f"claimwise metrics --metric {table.metric}"
        writer.say(f"and {pluralize(hidden, 'more group')}: {command}", "dim", indent=2)


def _write_bounds(writer: Writer, rows: Sequence[Estimate]) -> None:
    told = describe_slice_bounds(rows)
    if told:
        writer.say(told, "dim", indent=2)


def _slice_columns(
    table: MetricTable, rows: Sequence[Estimate], notes: Notes, *, width: int
) -> list[Column]:
    names = [
        Column(header=clean(name), cells=[slice_cell(row, name) for row in rows], least=8)
        for name in slice_columns(table, with_series=True)
    ]
    references = [find_reference(table, row) for row in rows]
    worse = [is_clearly_worse(row, at) for row, at in zip(rows, references, strict=True)]
    micro, interval, macro = _rate_columns(
        rows, styles=["bold red" if bad else "" for bad in worse]
    )
    plots = [forest_of(row, at) for row, at in zip(rows, references, strict=True)]
    has_bounds = width >= _ROOMY and not is_division(table) and any(row.unscored for row in rows)
    return [
        *names,
        micro,
        interval,
        Column(forests=plots),
        Column(header="items", cells=[show_count(row.items) for row in rows], right=True),
        Column(header=plural_of(table.unit).replace(" ", "\n"), right=True,
               cells=[show_count(row.claims) for row in rows]),
        Column(header="un-\nscored", cells=[show_count(row.unscored) for row in rows], right=True),
        *((_bound_column(rows),) if has_bounds else ()),
        *((macro, *_precision_columns(rows)) if width >= _WIDE else ()),
        _mark_column(rows, notes),
    ]  # fmt: skip


def _pair_columns(
    table: MetricTable, pairs: Sequence[tuple[Estimate, dict[str | None, Estimate]]]
) -> list[Column]:
    """Return columns that put the two rates of each slice side by side."""
    columns = [
        Column(header=clean(name), cells=[slice_cell(one, name) for one, _ in pairs],
               least=8)
        for name in slice_columns(table)
    ]  # fmt: skip
    for member in members_of(table):
        rows = [pair.get(member) for _, pair in pairs]
        plots = [forest_of(row, find_reference(table, row)) if row else None for row in rows]
        columns += [
            Column(header=clean(member).replace("_", "\n").replace(":", ":\n"), right=True,
                   cells=[show_percent(row.micro) if row else MISSING for row in rows]),
            Column(header="adjusted\nrange",
                   cells=[_show_adjusted(row) if row else MISSING for row in rows]),
            Column(forests=plots),
            Column(header="items", right=True,
                   cells=[show_count(row.items) if row else MISSING for row in rows]),
        ]  # fmt: skip
    unscored = [show_count(sum(row.unscored for row in pair.values())) for _, pair in pairs]
    return [*columns, Column(header="un-\nscored", cells=unscored, right=True)]


def _rate_columns(
    rows: Sequence[Estimate], *, simultaneous: bool = True, styles: Sequence[str] = ()
) -> tuple[Column, Column, Column]:
    ranges = [
        _show_adjusted(row) if simultaneous else show_percent_range(row.low, row.high)
        for row in rows
    ]
    rates = [show_percent(row.micro) for row in rows]
    return (
        Column(header="rate", cells=rates, right=True, styles=styles),
        Column(header="adjusted\nrange" if simultaneous else "range", cells=ranges),
        Column(header="macro", cells=[show_percent(row.macro) for row in rows], right=True),
    )


def _show_adjusted(row: Estimate) -> str:
    return show_percent_range(row.simultaneous_low, row.simultaneous_high)


def _precision_columns(rows: Sequence[Estimate]) -> list[Column]:
    differences = [show_difference(row.detectable_difference) for row in rows]
    return [
        Column(header="design\neffect", right=True,
               cells=[show_number(row.design_effect) for row in rows]),
        Column(header="ICC", cells=[show_number(row.icc) for row in rows], right=True),
        Column(header="detectable\npoints", cells=differences, right=True),
    ]  # fmt: skip


def _bound_column(rows: Sequence[Estimate]) -> Column:
    """Return what the unscored could make of each rate; nothing where there are none."""
    bounds = [show_percent_range(row.bound_low, row.bound_high) for row in rows]
    cells = [shown if row.unscored else "" for shown, row in zip(bounds, rows, strict=True)]
    return Column(header="bounds", cells=cells)


def _mark_column(rows: Sequence[Estimate], notes: Notes) -> Column:
    return Column(header="", cells=[notes.marks(row) for row in rows], styles=["dim"] * len(rows))
