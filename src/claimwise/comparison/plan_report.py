"""Shows how many items and labels a drop needs: on a terminal, as Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from rich.console import Console

from claimwise.comparison.plan_values import Plan, PlanRow
from claimwise.report.changes import name_slice
from claimwise.report.columns import Column, Writer
from claimwise.report.format import (
    MISSING,
    clean,
    name_in_words,
    pluralize,
    show_count,
    show_exact_percent,
    show_number,
    show_percent,
)
from claimwise.report.markdown import escape, write_bullets, write_table

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
_HEADERS: Final = (
    "group", "rate", "per item", "ICC", "design effect", "run corr.", "items now", "sees now",
    "same items", "labels per run", "different items", "labels per run", "",
)  # fmt: skip
_NARROW: Final = 90  # cells; below, a table shows what is needed alone
_NEEDED: Final = (0, 1, 6, 7, 8, 9, 10, 12)


def describe_goal(plan: Plan) -> str:
    """Say which change should be detected, and how surely."""
    worse = "rise" if all(row.better == "lower" for row in plan.overall) else "drop"
    text = (
        f"To detect a {worse} of {_show_size(plan.drop)} in {name_in_words(plan.title)} "
        f"{show_exact_percent(plan.power)} of the time, at {show_exact_percent(plan.confidence)} "
        "confidence"
    )
    if plan.slice_confidence != plan.confidence:
        each = show_exact_percent(round(plan.slice_confidence, 4))
        text += f" ({each} for each group, to allow for all of them)"
    return f"{text}:"


def describe_source(plan: Plan) -> str:
    """Say where the figures come from."""
    if plan.run_id is None:
        return "Nothing measured yet."
    run_id = clean(plan.run_id)
    text = f"Rate, claims per item and ICC come from run {run_id}"
    if plan.base_id is not None:
        text += f", the correlation of runs from {clean(plan.base_id)} and {run_id}"
    return f"{text}. The plan allows for what these items leave uncertain."


def describe_now(plan: Plan) -> Iterator[str]:
    """Say what is needed, and what the items at hand can show, for every rate."""
    for row in plan.overall:
        name = name_in_words(row.slice.get(plan.series or "") or plan.title)
        change = "rise" if row.better == "lower" else "drop"
        yield f"{name}: {_describe_need(row, plan, change)}. {_describe_sight(row, change)}."


def _describe_sight(row: PlanRow, change: str) -> str:
    if not row.items:
        return "You have no items yet"
    sees = [
        f"a {change} of {_show_size(size)} {where}"
        for size, where in (
            (row.sees_paired, "on the same items"),
            (row.sees_unpaired, "on different ones"),
        )
        if size is not None
    ]
    shown = f"can show {', or '.join(sees)}" if sees else f"can't show any {change}"
    return f"The {pluralize(row.items, 'item')} you have {shown}"


def _describe_need(row: PlanRow, plan: Plan, change: str) -> str:
    if row.paired_items is None or row.unpaired_items is None:
        return f"the rate has no room for a {change} of {_show_size(plan.drop)}"
    return (
        f"{pluralize(row.paired_items, 'item')} ({pluralize(row.paired_labels or 0, 'label')} per "
        "run) if both runs answer the same items; otherwise "
        f"{show_count(row.unpaired_items)} items in each run"
    )


def _show_size(change: float) -> str:
    """Write the size of a change: ``4.5 points``, ``1 point``."""
    points = round(change * 100, 1)
    return f"{points:g} point{'' if points == 1 else 's'}"


def list_assumptions(plan: Plan) -> list[str]:
    """Return what is assumed, each once, with the letter that rows carry."""
    texts = dict.fromkeys(text for row in (*plan.overall, *plan.slices) for text in row.assumed)
    return list(texts)


def _rows(plan: Plan) -> list[list[str]]:
    notes = list_assumptions(plan)
    return [_row(row, notes) for row in (*plan.overall, *plan.slices)]


def _row(row: PlanRow, notes: list[str]) -> list[str]:
    counts = (row.paired_items, row.paired_labels, row.unpaired_items, row.unpaired_labels)
    return [
        name_slice(row.slice),
        show_percent(row.rate),
        f"{row.claims_per_item:.1f}",
        show_number(row.icc),
        show_number(row.design_effect),
        show_number(row.correlation),
        show_count(row.items),
        MISSING if row.sees_paired is None else f"{row.sees_paired * 100:.1f}",
        *(MISSING if count is None else show_count(count) for count in counts),
        "".join(_mark(notes.index(text)) for text in row.assumed),
    ]


def _mark(number: int) -> str:
    return chr(ord("a") + number % 26) * (1 + number // 26)


def print_plan(plan: Plan, console: Console) -> None:
    """Print a plan: what is needed, what the items at hand show, and both for every group."""
    writer = Writer(console)
    writer.say(describe_goal(plan), "bold")
    for line in describe_now(plan):
        writer.say(line, indent=2)
    for warning in plan.warnings:
        writer.say(f"! {clean(warning)}", "yellow")
    writer.say(describe_source(plan), "dim")
    writer.skip()
    rows = _rows(plan)
    shown = _NEEDED if writer.width < _NARROW else range(len(_HEADERS))
    writer.put_columns([
        Column(header=_HEADERS[n].replace(" ", "\n"), cells=[row[n] for row in rows],
               right=0 < n < len(_HEADERS) - 1, least=None if n else 8)
        for n in shown
    ])  # fmt: skip
    for number, text in enumerate(list_assumptions(plan)):
        writer.say(f"{_mark(number)}  assumed: {clean(text)}", "dim", indent=2)


def render_plan_markdown(plan: Plan) -> str:
    """Write a plan as GitHub-flavoured Markdown."""
    notes = [
        f"({_mark(number)}) assumed: {escape(text)}"
        for number, text in enumerate(list_assumptions(plan))
    ]
    parts = [
        f"# Plan: {escape(plan.title)}",
        escape(describe_goal(plan)),
        write_bullets(map(escape, describe_now(plan))),
        write_bullets(f"**Warning:** {escape(warning)}" for warning in plan.warnings),
        escape(describe_source(plan)),
        write_table(_HEADERS, _rows(plan)),
        write_bullets(notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def to_plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values for JSON: docs/plan.md lists the fields."""
    return {"format": FORMAT, **msgspec.to_builtins(plan)}
