"""Shows what became of gates: terminal, Markdown, JSON, JUnit XML, GitHub annotations.

Names of slices are foreign text: nothing here reads markup, and what does not print is replaced.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final
from xml.etree import ElementTree

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from claimwise.gates.values import GateDecision, GateEvent, GateReport, Outcome, SliceDecision
from claimwise.report.changes import show_change_range
from claimwise.report.columns import Writer
from claimwise.report.format import (
    clean,
    clean_value,
    plural_of,
    pluralize,
    show_count,
    show_exact_percent,
    show_percent,
    show_percent_range,
    show_rate,
)
from claimwise.report.markdown import escape, write_table

SCHEMA: Final = "claimwise.gates/1"
HISTORY_SCHEMA: Final = "claimwise.gate-history/1"
HISTORY_COLUMNS: Final = ("decided", "run", "gate", "outcome", "decided by")
MOST_SLICES: Final = 25  # of a gate in Markdown and on a terminal; JSON and JUnit have them all

_SIGNS: Final[dict[Outcome, str]] = {"pass": "✓", "fail": "✗", "inconclusive": "?"}
_STYLES: Final[dict[Outcome, str]] = {
    "pass": "green", "fail": "bold red", "inconclusive": "yellow"
}  # fmt: skip
_TEXT: Final = (0, 1, 3, 7)  # columns of text, set left; the others are counts
# What XML 1.0 can't hold even escaped.
_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def name_decided_slice(found: SliceDecision) -> str:
    """Write a slice: ``query_type=multi_hop``; the whole run is ``overall``."""
    parts = [f"{clean(name)}={clean_value(value)}" for name, value in found.slice.items()]
    return ", ".join(parts) or "overall"


def describe_gate(decision: GateDecision) -> str:
    """Say in one line which gate this is and what it asks for."""
    title = clean(decision.title).replace("_", " ")
    against = f" ({clean(decision.baseline_id)})" if decision.gate.baseline == "previous" else ""
    return f"{clean(decision.gate.name)}: {title} {clean(decision.rule)}{against}"


def describe_outcome(decision: GateDecision) -> str:
    """Say in one word what became of a gate; one that only warns says so."""
    warns = decision.outcome == "inconclusive" and not decision.blocks
    return f"{decision.outcome} (warns)" if warns else decision.outcome


def describe_slice(found: SliceDecision, unit: str) -> str:
    """Say in one line what became of a slice, and by what."""
    figures = [pluralize(found.items, "item"), pluralize(found.units, unit)]
    if found.unscored:
        figures.append(f"{show_count(found.unscored)} unscored")
    shown = _show_value(found) + (f" ({_show_bounds(found)})" if found.low is not None else "")
    return f"{shown}; {clean(found.reason)} ({', '.join(figures)})"


def describe_report(report: GateReport) -> str:
    """Say in one line what became of all gates."""
    counts = [
        f"{number} {word}"
        for outcome, word in (
            ("fail", "failed"),
            ("inconclusive", "inconclusive"),
            ("pass", "passed"),
        )
        if (number := sum(decision.outcome == outcome for decision in report.gates))
    ]
    return f"{pluralize(len(report.gates), 'gate')} on run {clean(report.run_id)}: " + ", ".join(
        counts
    )


def _show_value(found: SliceDecision) -> str:
    if found.baseline_rate is None or found.change is None:
        return show_percent(found.rate)
    return f"{show_percent(found.baseline_rate)} → {show_percent(found.rate)}"


def _show_bounds(found: SliceDecision) -> str:
    if found.change is None or found.low is None:
        return show_percent_range(found.low, found.high)
    return f"{show_change_range(found.low, found.high)} points"


def explain_bounds(decision: GateDecision) -> str:
    """Say what the two bounds of a gate's slices are."""
    low, high = "low", "high"
    passing, failing = (low, high) if decision.better == "higher" else (high, low)
    what = "change" if decision.baseline_id else "rate"
    passes = show_exact_percent(decision.pass_confidence)
    fails = show_exact_percent(decision.fail_confidence)
    return (
        f"To pass, the {passing} end of the {what}'s range counts, at {passes} confidence; to "
        f"fail, the {failing} end, at {fails}{_describe_spending(decision)}."
        + (f" {decision.power}" if decision.power else "")
    )


def _describe_spending(decision: GateDecision) -> str:
    """Say over what a gate's error is spread; nothing for one group at one look."""
    gate = decision.gate
    if len(decision.slices) == 1 and not gate.spares:
        return ""
    if gate.spares and gate.looks_per_year is not None:
        return (
            f" (for all groups together: {gate.false_alarms_per_year:g} false alarms per year in "
            f"{gate.looks_per_year:,.0f} looks)"
        )
    over = f"all groups and {gate.looks:,} looks" if gate.spares else "all groups"
    return f" ({show_exact_percent(gate.confidence)} for {over} together)"


def describe_twin(decision: GateDecision) -> str | None:
    """Say in one line what the other half of the abstention pair is; None where a gate has it."""
    twin = decision.twin
    if twin is None:
        return None
    name = clean(twin.member).replace("_", " ")
    if twin.rate is None:
        kind = "unanswerable" if twin.member == "correct_abstention" else "answerable"
        return f"Also: {name} is not measured; it needs {kind} items with an action."
    extreme = "always" if twin.member == "over_refusal" else "never"
    return (
        f"Also: {name} is {show_rate(twin.rate, twin.low, twin.high)} on "
        f"{pluralize(twin.units, decision.unit)}. It has no gate, and a system that {extreme} "
        "declines would pass this one."
    )


def _headers(decision: GateDecision) -> list[str]:
    what = "change" if decision.baseline_id else "rate"
    return ["", "group", what, "range", "items", plural_of(decision.unit), "unscored", "why"]


def _cells(found: SliceDecision) -> list[str]:
    return [
        found.outcome,
        name_decided_slice(found),
        _show_value(found),
        _show_bounds(found),
        show_count(found.items),
        show_count(found.units),
        show_count(found.unscored),
        clean(found.reason),
    ]


def print_gates(report: GateReport, console: Console) -> None:
    """Print every gate with its slices, what fails first."""
    writer = Writer(console)
    for decision in report.gates:
        style = _STYLES[decision.outcome]
        sign, word = _SIGNS[decision.outcome], describe_outcome(decision).upper()
        writer.say(f"{sign} {word}  {describe_gate(decision)}", style)
        _print_slices(writer, decision)
        for note in decision.notes:
            writer.say(f"! {clean(note)}", "yellow", indent=2)
        twin = describe_twin(decision)
        if twin:
            writer.say(twin, indent=2)
        writer.say(explain_bounds(decision), "dim", indent=2)
        writer.skip()
    writer.say(describe_report(report), "bold")


def _print_slices(writer: Writer, decision: GateDecision) -> None:
    """Print the figures as a table, and under it in words what did not pass."""
    shown = decision.slices[:MOST_SLICES]
    grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
    for number, header in enumerate(_headers(decision)[:-1]):
        grid.add_column(header, justify="left" if number in _TEXT else "right", overflow="fold")
    for found in shown:
        outcome, *cells = (writer.text(cell) for cell in _cells(found)[:-1])
        grid.add_row(Text(outcome.plain, _STYLES[found.outcome]), *cells)
    writer.put(grid)
    for found in shown:
        if found.outcome != "pass" or len(shown) == 1:
            writer.say(f"{name_decided_slice(found)}: {clean(found.reason)}", indent=2)
    left = len(decision.slices) - MOST_SLICES
    if left > 0:
        writer.say(f"… and {left:,} more groups (--format json has them)", "dim", indent=2)


def render_gates_markdown(report: GateReport) -> str:
    """Write gates as Markdown, for a pull request or a step summary."""
    word = {"pass": "passed", "fail": "failed", "inconclusive": "inconclusive"}[report.outcome]
    parts = [f"## claimwise gates: {word}", escape(describe_report(report)) + "."]
    for decision in report.gates:
        sign = _SIGNS[decision.outcome]
        parts.append(f"### {sign} {describe_outcome(decision)}: {escape(describe_gate(decision))}")
        rows = [_cells(found) for found in decision.slices[:MOST_SLICES]]
        parts.append(write_table(_headers(decision), rows, text=_TEXT))
        left = len(decision.slices) - MOST_SLICES
        if left > 0:
            parts.append(f"… and {left:,} more groups.")
        parts += [f"**Note:** {escape(clean(note))}" for note in decision.notes]
        twin = describe_twin(decision)
        if twin:
            parts.append(escape(twin))
        parts.append(escape(explain_bounds(decision)))
    return "\n\n".join(parts) + "\n"


def list_history_cells(event: GateEvent) -> list[str]:
    """Return a kept result as a line of a table: when, what, and the slice that decided it."""
    slices = event.decision["slices"]
    worst = "" if not slices else _describe_kept(slices[0])
    return [
        event.decided_at.isoformat(" ", "seconds"),
        event.run_id,
        event.gate,
        event.outcome if event.blocks or event.outcome == "pass" else f"{event.outcome} (warns)",
        worst,
    ]


def _describe_kept(found: dict[str, Any]) -> str:
    named = ", ".join(f"{name}={value}" for name, value in found["slice"].items()) or "overall"
    return f"{named} {show_percent(found['rate'])}: {found['reason']}"


def gates_to_document(report: GateReport) -> dict[str, Any]:
    """Return gates as plain values for JSON; figures are not rounded, text is not cleaned."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        "outcome": report.outcome,
        "exit_code": report.exit_code,
        **msgspec.to_builtins(report),
    }
    for told, decision in zip(document["gates"], report.gates, strict=True):
        told["blocks"] = decision.blocks
    return document


def render_gates_json(report: GateReport) -> str:
    """Write gates as JSON in plain ASCII, so that no text can steer a terminal."""
    return json.dumps(gates_to_document(report), indent=2) + "\n"


def render_junit(report: GateReport) -> str:
    """Write gates as JUnit XML: a suite for each gate, a test case for each slice.

    What fails is a failure, and so is what is inconclusive (its type says so); where that only
    warns it is skipped.
    """
    root = ElementTree.Element("testsuites", name="claimwise gates")
    totals = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    for decision in report.gates:
        suite, counts = _make_suite(decision)
        root.append(suite)
        totals = {name: totals[name] + counts[name] for name in totals}
    root.attrib.update({name: str(count) for name, count in totals.items()})
    ElementTree.indent(root)
    text = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'


def _make_suite(decision: GateDecision) -> tuple[ElementTree.Element, dict[str, int]]:
    name = _xml(decision.gate.name)
    suite = ElementTree.Element("testsuite", name=name)
    counts = {"tests": len(decision.slices), "failures": 0, "errors": 0, "skipped": 0}
    for found in decision.slices:
        case = ElementTree.SubElement(
            suite,
            "testcase",
            classname=f"claimwise.{name}",
            name=_xml(name_decided_slice(found)),
            time="0",
        )
        told = _xml(describe_slice(found, decision.unit))
        if found.outcome == "inconclusive" and decision.gate.on_inconclusive == "warn":
            counts["skipped"] += 1
            ElementTree.SubElement(case, "skipped", message=f"inconclusive: {told}")
        elif found.outcome != "pass":
            counts["failures"] += 1
            failure = ElementTree.SubElement(case, "failure", type=found.outcome, message=told)
            failure.text = _xml(f"{describe_gate(decision)}\n{told}")
        else:
            ElementTree.SubElement(case, "system-out").text = told
    suite.attrib.update({key: str(count) for key, count in counts.items()})
    return suite, counts


def _xml(text: str) -> str:
    return _NO_XML.sub("\ufffd", text)


def render_annotations(report: GateReport) -> str:
    """Write GitHub's workflow commands: an error or a warning for each slice that did not pass.

    Line breaks and per cent signs are escaped, so that no text can start a command of its own.
    """
    lines = []
    for decision in report.gates:
        for found in decision.slices[:MOST_SLICES]:
            if found.outcome == "pass":
                continue
            warns = found.outcome == "inconclusive" and decision.gate.on_inconclusive == "warn"
            level = "warning" if warns else "error"
            title = f"{decision.gate.name} {found.outcome} in {name_decided_slice(found)}"
            told = f"{describe_gate(decision)}: {describe_slice(found, decision.unit)}"
            lines.append(f"::{level} title={_escape_property(title)}::{_escape_data(told)}\n")
    if not lines:
        lines.append(f"::notice title=claimwise gates::{_escape_data(describe_report(report))}\n")
    return "".join(lines)


def _escape_data(text: str) -> str:
    return clean(text).replace("%", "%25")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
