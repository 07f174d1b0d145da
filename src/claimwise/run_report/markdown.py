"""Writes reports and metrics as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Final

from claimwise.calibration.headline import Headline
from claimwise.report.format import (
    MISSING,
    QUADRANT,
    Notes,
    agreement_text,
    clean,
    is_division,
    is_measured,
    is_pair,
    members_of,
    overall_of,
    pair_slices,
    plural_of,
    pluralize,
    show_count,
    show_difference,
    show_number,
    show_percent,
    show_percent_range,
    show_rate,
    slice_cell,
    slice_columns,
)
from claimwise.report.markdown import escape, write_bullets, write_table
from claimwise.run_report.sentences import (
    READING,
    describe_answers,
    describe_judge_summary,
    describe_labels,
    describe_meaning,
    describe_report_run,
    describe_settings,
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
from claimwise.run_report.summary_text import (
    WORST_CLAIMS,
    describe_evidence,
    describe_facts,
    describe_group,
    describe_headline,
    describe_no_groups,
    describe_rest,
    find_group_basis,
    name_commands,
)
from claimwise.run_report.summary_text import describe_run as describe_summary_run
from claimwise.run_report.values import Report, Summary
from claimwise.types.results import Estimate, JudgeNote, MetricTable

_Figure = tuple[str, Callable[[Estimate], str]]
_PLAIN: Final[_Figure] = ("range", lambda row: show_percent_range(row.low, row.high))
_TOGETHER: Final[_Figure] = (
    "adjusted range",
    lambda row: show_percent_range(row.simultaneous_low, row.simultaneous_high),
)
_PRECISION: Final[tuple[_Figure, ...]] = (
    ("design effect", lambda row: show_number(row.design_effect)),
    ("ICC", lambda row: show_number(row.icc)),
    ("detectable points", lambda row: show_difference(row.detectable_difference)),
)


def _figures(table: MetricTable, notes: Notes, *, of_slices: bool) -> list[_Figure]:
    """Return the columns of a row's figures, what matters most first."""
    return [
        ("rate", lambda row: show_percent(row.micro)),
        *((_TOGETHER, _PLAIN) if of_slices else (_PLAIN,)),
        ("items", lambda row: show_count(row.items)),
        (plural_of(table.unit), lambda row: show_count(row.claims)),
        ("asked", lambda row: show_count(row.asked)),
        ("scored", lambda row: show_count(row.scored)),
        ("unscored", lambda row: show_count(row.unscored)),
        ("bounds", lambda row: show_percent_range(row.bound_low, row.bound_high)),
        ("macro", lambda row: show_percent(row.macro)),
        ("macro range", lambda row: show_percent_range(row.macro_low, row.macro_high)),
        *_PRECISION,
        ("notes", notes.marks),
    ]


def render_markdown(report: Report) -> str:
    """Write a report as Markdown."""
    notes = Notes()
    parts = [
        f"# Report on run {escape(clean(report.run.get('run_id')))}",
        write_bullets(f"{name}: {escape(value)}" for name, value in describe_report_run(report)),
        _render_headline(
            describe_headline(
                report.headline, report.judges, report.tables, report.run.get("run_id")
            )
        ),
        escape(describe_settings(report.settings)),
        *_render_worst(report),
        *_render_gaps(report),
        *_render_instruments(report),
        "## Metrics",
        READING,
        *_render_metrics(report.tables, notes, report.headline),
        *_render_notes(notes),
        "## Reproduce these figures",
        _render_commands(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_summary_markdown(summary: Summary) -> str:
    """Write the first screen as Markdown: short enough for a comment on a pull request."""
    facts = [f"**{name}**: {escape(text)}" for name, text in describe_facts(summary)]
    groups = [escape(describe_group(group)) for group in summary.groups]
    groups += [escape(basis)] if (basis := find_group_basis(summary)) else []
    claims = [
        f"**{escape(claim.word)}**: “{escape(clean(claim.claim_text))}”  \n"
        f"  {escape(describe_evidence(claim))}"
        for claim in summary.claims[:WORST_CLAIMS]
    ]
    rest = [f"**{name}**: {escape(text)}" for name, text in describe_rest(summary)]
    commands = " · ".join(
        f"`{command}`" for command in name_commands(summary) if "`" not in command
    )
    shown = f"{len(claims)} of {show_count(summary.unsupported)} claims that are not supported"
    parts = [
        f"# Run {escape(describe_summary_run(summary))}",
        write_bullets(facts),
        "## Worst groups",
        write_bullets(groups) if groups else escape(describe_no_groups(summary)),
        *(["## Worst claims", f"{shown}:", write_bullets(claims)] if claims else []),
        write_bullets([*rest, f"**More**: {commands}"] if commands else rest),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def render_tables_markdown(
    tables: Sequence[MetricTable],
    headlines: Mapping[str, Headline] | None = None,
    judges: Sequence[JudgeNote] = (),
) -> str:
    """Write metrics of one run or several as Markdown, each run's one rate first."""
    notes = Notes()
    parts = []
    for run_id, group in groupby(tables, key=lambda table: table.run_id):
        of_run = list(group)
        headline = (headlines or {}).get(run_id)
        parts.append(f"## Run {escape(run_id)}")
        if headline is not None:
            parts.append(_render_headline(describe_headline(headline, judges, of_run, run_id)))
        parts.append(escape(describe_settings(of_run[0].settings)))
        parts += _render_metrics(of_run, notes, headline)
    return "\n\n".join([*parts, *_render_notes(notes)]) + "\n"


def _render_headline(told: Sequence[tuple[str, str]]) -> str:
    return write_bullets(f"**{name}**: {escape(text)}" for name, text in told)


def _render_worst(report: Report) -> list[str]:
    found = describe_worst(report)
    if not found:
        return ["## Worst group", f"Worst group: {escape(no_worst(report))}"]
    parts = [
        "## Worst group",
        f"**Worst group: {escape(str(found[0]))}**",
        escape(found[0].explanation),
    ]
    if len(found) > 1:
        parts.append(write_table(
            ["metric", "worst rate", "adjusted range", "group", "overall", "difference"],
            [
                [w.metric, w.rate, w.interval, w.where, w.overall, w.judgement]
                for w in found[1:]
            ],
            text=(0, 3, 5),
        ))  # fmt: skip
    return parts


def _render_gaps(report: Report) -> list[str]:
    gaps = find_gaps(report)
    rows = [
        [
            gap.title, show_count(gap.row.asked), show_count(gap.row.unscored),
            show_percent(gap.row.micro),
            show_percent_range(gap.row.bound_low, gap.row.bound_high),
        ]
        for gap in gaps
    ]  # fmt: skip
    lines = [line for line in (describe_unscored_claims(report), describe_answers(report)) if line]
    return [
        "## Not scored",
        write_bullets(
            [*map(escape, lines), *(f"**Warning:** {escape(w)}" for w in report.warnings)]
        ),
        write_table(["metric", "asked", "unscored", "rate", "bounds"], rows) if rows else "",
    ]


def _render_instruments(report: Report) -> list[str]:
    rows = [
        [
            row.labeler, name_kind(row), describe_judge_summary(row),
            show_count(row.deciding_labels), agreement_text(row),
        ]
        for row in report.instruments
    ]  # fmt: skip
    headers = ["labeler", "kind", "made of", "deciding labels", "agreement with people"]
    table = (
        write_table(headers, rows, text=(0, 1, 2, 4)) if rows else "Nobody has labelled this run."
    )
    return ["## Judges and labelers", table, write_bullets(map(escape, describe_trust(report)))]


def _render_metrics(
    tables: Sequence[MetricTable], notes: Notes, headline: Headline | None
) -> list[str]:
    parts = [
        part
        for table in tables
        if is_measured(table)
        for part in _render_metric(table, notes, headline)
    ]
    missing = describe_unmeasured(tables)
    return [*parts, f"Not measured: {escape(missing)}"] if missing else parts


def _render_metric(table: MetricTable, notes: Notes, headline: Headline | None) -> list[str]:
    whose = describe_labels(table, headline)
    meaning = f"{describe_meaning(table)} {whose}".rstrip()
    parts = [f"### {escape(table.title)}", escape(meaning)]
    if table.metric == "quadrant":
        parts.append(_render_quadrant(table))
    parts.append(_render_overall(table, notes))
    if table.slices:
        parts += [f"{describe_slices(table)}:", _render_slices(table, notes)]
    return parts


def _render_overall(table: MetricTable, notes: Notes) -> str:
    figures = _figures(table, notes, of_slices=False)
    members = members_of(table)
    rows = []
    for member in members:
        row = overall_of(table, member)
        cells = [show(row) for _, show in figures] if row else [MISSING] * len(figures)
        rows.append([member or "overall", *cells, table.notes.get(member or "", "")])
    headers = [table.series or "", *(name for name, _ in figures)]
    if members == [None]:
        return write_table(headers, [row[:-1] for row in rows])
    return write_table([*headers, "meaning"], rows, text=(0, len(headers)))


def _render_quadrant(table: MetricTable) -> str:
    rows = []
    for name, members in QUADRANT.items():
        cells = [_describe_cell(table, member) for member in members]
        rows.append([name, *cells])
    return write_table(["", "correct", "wrong"], rows, text=(0, 1, 2))


def _describe_cell(table: MetricTable, member: str) -> str:
    row = overall_of(table, member)
    note = table.notes.get(member, "")
    if row is None:
        return f"{MISSING} {note}"
    share = show_rate(row.micro, row.low, row.high)
    return f"{share}, {pluralize(row.numerator, table.unit)}: {note}"


def _render_slices(table: MetricTable, notes: Notes) -> str:
    if is_pair(table) or is_division(table):
        return _render_side_by_side(table)
    names = slice_columns(table, with_series=True)
    figures = _figures(table, notes, of_slices=True)
    rows = [
        [*(slice_cell(row, name) for name in names), *(show(row) for _, show in figures)]
        for row in table.slices
    ]
    worse = [is_clearly_worse(row, find_reference(table, row)) for row in table.slices]
    headers = [*names, *(name for name, _ in figures)]
    return write_table(headers, rows, text=range(len(names)), strong=worse)


def _render_side_by_side(table: MetricTable) -> str:
    """Write each slice on one row, with all members of the series."""
    names, members = slice_columns(table), members_of(table)
    headers = [*names, *(f"{member}, adjusted range" for member in members), "unscored"]
    rows = []
    for one, pair in pair_slices(table):
        found = [row.unscored for row in pair.values()]
        rows.append([
            *(slice_cell(one, name) for name in names),
            *(_describe_member(pair.get(member)) for member in members),
            # A pair's members are about different answers, shares about the same.
            show_count(sum(found) if is_pair(table) else max(found)),
        ])  # fmt: skip
    return write_table(headers, rows, text=range(len(names)))


def _describe_member(row: Estimate | None) -> str:
    if row is None or row.micro is None:
        return MISSING
    bounds = ""
    if row.unscored and row.better is not None:
        bounds = f", bounds {show_percent_range(row.bound_low, row.bound_high)}"
    share = show_rate(row.micro, row.simultaneous_low, row.simultaneous_high)
    return f"{share}, {pluralize(row.items, 'item')}{bounds}"


def _render_notes(notes: Notes) -> list[str]:
    found = notes.listed()
    return [write_bullets(f"({mark}) {escape(text)}" for mark, text in found)] if found else []


def _render_commands(report: Report) -> str:
    lines = [f"{command}  # {purpose}" for command, purpose in reproduce(report)]
    # A fence longer than any run of backquotes in it can't be closed from inside.
    longest = max(len(run) for run in re.findall(r"`*", "\n".join(lines)))
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}sh", *lines, fence])
