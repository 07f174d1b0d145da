"""How a measured file reads: what was understood, one screen, and several systems side by side."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from claimwise.measuring.gather import ReadAnswers
from claimwise.measuring.rows import describe_call, name_source
from claimwise.measuring.values import InputSummary, Measurement, RunMeasure
from claimwise.report.format import (
    clean,
    pluralize,
    show_count,
    show_percent,
    show_percent_range,
)
from claimwise.report.screen import MOST_LINES
from claimwise.run_report.summary_text import format_summary
from claimwise.types.traces import Trace

_NAME: Final = 28
_PLURAL: Final = re.compile(r"(?<=[^\Ws])s\b")


def to_preview(found: ReadAnswers, reading: InputSummary) -> dict[str, Any]:
    """Return what was understood of files, nothing of it judged or stored, as values for JSON."""
    return {
        "reader": reading.reader,
        "recognised": list(reading.recognised),
        "answers": [_show_answer(trace) for trace in found.traces],
        "dropped": reading.dropped,
        "unread": list(reading.unread),
        "warnings": list(reading.warnings),
    }


def _show_answer(trace: Trace) -> dict[str, Any]:
    """Return an answer as it was understood; what the file does not tell is null."""
    return {
        "question": trace.question,
        "answer": trace.answer,
        "contexts": [
            {
                "source_id": name_source(passage),
                "text": passage.text,
                "kind": passage.kind,
                "title": passage.title,
            }
            for passage in trace.passages or ()
        ],
        "contexts_recorded": trace.passages is not None,
        "actions": [
            {"name": call.name, "arguments": call.arguments, "text": describe_call(call)}
            for call in trace.actions
        ],
        "failure": trace.failure,
        "trace_id": trace.trace_id,
        "conversation_id": trace.conversation_id,
        "system": trace.system,
        "model": trace.model,
        "gold_answer": trace.gold_answer,
        "answerable": trace.answerable,
        "query_type": trace.query_type,
        "stakes": trace.stakes,
        "domain": trace.domain,
        "attributes": trace.attributes,
    }


def describe_read(reading: InputSummary) -> str:
    """Say in one line what was read, and as what."""
    told = "; ".join(clean(one.removeprefix("read ")) for one in reading.recognised)
    return f"Read {pluralize(reading.answers, 'answer')} {told or f'as {clean(reading.reader)}'}"


def _wrap(text: str, width: int) -> list[str]:
    """Break a line into two; what does not fit is cut."""
    return textwrap.wrap(
        text, width, max_lines=2, placeholder=" …", subsequent_indent="  ", break_on_hyphens=False
    )


def describe_left_out(reading: InputSummary) -> Iterator[str]:
    """Say what was dropped, what looks wrong, and what can't be read."""
    if reading.dropped:
        parts = [_count_dropped(clean(what), n) for what, n in reading.dropped.items()]
        yield f"left out: {', '.join(parts)}"
    yield from (f"warning: {clean(one)}" for one in reading.warnings)
    yield from (f"can't be read: {clean(one)}" for one in reading.unread)


def _count_dropped(what: str, count: int) -> str:
    """Say how much of something was dropped; readers name it in the plural: “score columns”."""
    return f"{show_count(count)} {what if count != 1 else _PLURAL.sub('', what, count=1)}"


def write_screen(measured: Measurement, width: int = 80) -> str:
    """Write one screen: what was read, several systems side by side, and the lowest run.

    It has at most 25 lines: where others take the room, fewer of the worst claims are listed.
    """
    head = _wrap(describe_read(measured.reading), width)
    run = measured.lowest
    if len(measured.runs) > 1:
        head += [*_write_systems(measured.runs), ""]
    bare = run.without_contexts
    if bare and bare < run.answers and run.headline.judgement == "grounded":
        head.append(f"{pluralize(bare, 'answer')} without contexts: not judged")
    if not run.claims:
        head.append("The answers make no claim that can be checked.")
    summary = run.summary
    while True:
        body = format_summary(summary, width).splitlines()
        if len(head) + len(body) <= MOST_LINES or not summary.claims:
            return "\n".join([*head, *body])
        summary = replace(summary, claims=summary.claims[:-1])


def _write_systems(runs: Sequence[RunMeasure]) -> list[str]:
    """Write systems side by side: one line each."""
    lines = [f"{'System':<{_NAME}} {'answers':>8} {'claims':>7} {'supported':>10}  range"]
    for run in runs:
        one = run.headline
        rate = "not measured" if one.rate is None else show_percent(one.rate)
        band = "" if one.low is None else show_percent_range(one.low, one.high)
        name = clean(run.system)
        name = name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"
        lines.append(
            f"{name:<{_NAME}} {show_count(run.answers):>8} {show_count(run.claims):>7} "
            f"{rate:>10}  {band}".rstrip()
        )
    return lines


def write_preview(found: ReadAnswers, reading: InputSummary) -> str:
    """Write what was understood of the first answers as text."""
    lines = [describe_read(reading)]
    for number, trace in enumerate(found.traces[:3], start=1):
        shown = _show_answer(trace)
        contexts = shown["contexts"]
        lines += [
            f"{number}. question: {_cut(trace.question)}",
            f"   answer: {_cut(trace.answer or str(trace.failure))}",
            "   contexts: not recorded"
            if trace.passages is None
            else f"   contexts: {len(contexts):,}"
            + (f", the first: {_cut(str(contexts[0]['text']))}" if contexts else ""),
        ]
        if trace.actions:
            lines.append(f"   actions: {_cut(', '.join(map(describe_call, trace.actions)))}")
        unknown = [n for n in ("answerable", "query_type", "stakes") if shown[n] is None]
        lines.append(f"   unknown: {', '.join([*unknown, 'action'])}")
    return "\n".join([*lines, *describe_left_out(reading)])


def _cut(text: str, most: int = 62) -> str:
    line = clean(text)
    return line if len(line) <= most else f"{line[: most - 1]}…"
