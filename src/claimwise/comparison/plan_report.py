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
    show_confidence,
    show_count,
    show_number,
    show_rate,
)
from claimwise.report.markdown import escape, write_bullets, write_table

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
_HEADERS: Final = (
    "slice", "rate", "per item", "ICC", "design effect", "run corr.", "items now", "sees now",
    "paired items", "labels a run", "unpaired items", "labels a run", "",
)  # fmt: skip
_NARROW: Final = 90  # cells; below, a table shows what is needed alone
_NEEDED: Final = (0, 1, 6, 7, 8, 9, 10, 12)


def describe_goal(plan: Plan) -> str:
    """Say what is to be seen, how surely."""
    worse = "rise" if all(row.better == "lower" for row in plan.overall) else "drop"
    text = (
        f"To see a {worse} of {plan.drop:g} in {name_in_words(plan.title)} "
        f"with power {plan.power:g} at {show_confidence(plan.confidence)} confidence"
    )
    if plan.slice_confidence != plan.confidence:
        text += f"; slices at {show_confidence(round(plan.slice_confidence, 4))}, to hold together"
    return f"{text}."


def describe_source(plan: Plan) -> str:
    """Say where the figures come from."""
    if plan.run_id is None:
        return "Nothing measured yet."
    text = f"Rate, claims an item and ICC are those of run {clean(plan.run_id)}"
    if plan.base_id is not None:
        text += f"; how alike two runs are on an item, from {clean(plan.base_id)} and it"
    return f"{text}. Power is averaged over what these items leave open."


def describe_now(plan: Plan) -> Iterator[str]:
    """Say what the items at hand can show, and what is missing, for every rate."""
    for row in plan.overall:
        name = name_in_words(row.slice.get(plan.series or "") or plan.title)
        change = "rise" if row.better == "lower" else "drop"
        yield f"{name}: {_describe_sight(row, change)}; {_describe_need(row, plan, change)}."


def _describe_sight(row: PlanRow, change: str) -> str:
    if not row.items:
        return "no item yet"
    sees = [
        f"a {change} of {show_rate(size)} {word}"
        for size, word in ((row.sees_paired, "paired"), (row.sees_unpaired, "unpaired"))
        if size is not None
    ]
    shown = f"show {' or '.join(sees)}" if sees else f"show no {change} at all"
    return f"the {pluralize(row.items, 'item')} you have {shown}"


def _describe_need(row: PlanRow, plan: Plan, change: str) -> str:
    if row.paired_items is None or row.unpaired_items is None:
        return f"the rate has no room for a {change} of {plan.drop:g}"
    return (
        f"{plan.drop:g} needs {pluralize(row.paired_items, 'item')} "
        f"({pluralize(row.paired_labels or 0, 'label')} a run) when both runs are asked the same, "
        f"{show_count(row.unpaired_items)} each when not"
    )


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
        show_rate(row.rate),
        f"{row.claims_per_item:.1f}",
        show_number(row.icc),
        show_number(row.design_effect),
        show_number(row.correlation),
        show_count(row.items),
        show_rate(row.sees_paired),
        *(MISSING if count is None else show_count(count) for count in counts),
        "".join(_mark(notes.index(text)) for text in row.assumed),
    ]


def _mark(number: int) -> str:
    return chr(ord("a") + number % 26) * (1 + number // 26)


def print_plan(plan: Plan, console: Console) -> None:
    """Print a plan: what the items at hand show, and what every slice needs."""
    writer = Writer(console)
    writer.say(describe_goal(plan), "bold")
    writer.say(describe_source(plan), "dim")
    for warning in plan.warnings:
        writer.say(f"! {clean(warning)}", "yellow")
    writer.skip()
    for line in describe_now(plan):
        writer.say(line)
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
        escape(describe_source(plan)),
        write_bullets(f"**Warning:** {escape(warning)}" for warning in plan.warnings),
        write_bullets(map(escape, describe_now(plan))),
        write_table(_HEADERS, _rows(plan)),
        write_bullets(notes),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def to_plan_document(plan: Plan) -> dict[str, Any]:
    """Return a plan as plain values for JSON: docs/plan.md lists the fields."""
    return {"format": FORMAT, **msgspec.to_builtins(plan)}
