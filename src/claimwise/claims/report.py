"""Shows claims: on a terminal, and as JSON, CSV and one HTML page.

Everything shown was written by others. On a terminal nothing of it is read as markup and what does
not print is replaced; in HTML it is escaped; in CSV no cell is a formula.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape
from itertools import count
from typing import Any, Final

from msgspec import Struct
from rich.console import Console

from claimwise.claims.frame import flatten_claim, list_frame_columns
from claimwise.claims.values import UNSCORED, ClaimRow
from claimwise.report.columns import Writer
from claimwise.report.format import clean, clean_value, pluralize, show_percent
from claimwise.report.marked import (
    LOOKS,
    NOT_SCORED,
    STYLE,
    MarkedClaim,
    write_answer,
    write_claims,
)
from claimwise.text.formulas import guard_cell
from claimwise.types.rows import Judgement

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
_QUOTE: Final = 300  # characters of evidence shown on a terminal
_INDENT: Final = 6


class ClaimList(Struct, frozen=True, kw_only=True):
    """Claims of a run that someone asked for, and what there is in all."""

    run_id: str
    judgement: Judgement
    counts: dict[str, int]  # claims of the whole run by verdict, worst first
    claims: list[ClaimRow]
    by: tuple[str, ...] = ()
    more: bool = False  # there are others that the limit left out

    def group(self) -> list[tuple[str, list[ClaimRow]]]:
        """Return the claims by group, the group with the worst claim first; one without ``by``."""
        groups: dict[str, list[ClaimRow]] = {}
        for row in self.claims:
            name = ", ".join(f"{clean(c)}={clean_value(row.slice[c])}" for c in self.by)
            groups.setdefault(name, []).append(row)
        return list(groups.items())


def mark_claim(row: ClaimRow, number: int) -> MarkedClaim:
    """Return a claim as it is shown."""
    return MarkedClaim(
        number=number,
        word=row.verdict or NOT_SCORED,
        text=row.claim_text,
        start=row.answer_start,
        end=row.answer_end,
        notes=tuple(_list_notes(row)),
        evidence=row.evidence,
        source=row.source_name or ("action log" if row.evidence else None),
        reason=row.reason,
    )


def _list_notes(row: ClaimRow) -> Iterable[str]:
    if row.unscored:
        yield row.unscored.replace("_", " ")
    if row.labeler:
        by = {"adjudicated": "adjudicated by", "human": "labelled by"}.get(row.label_kind or "")
        yield f"{by or 'judged by'} {row.labeler}"
    if row.confidence is not None:
        yield f"confidence {show_percent(row.confidence)}"
    if row.disputed:
        yield "disputed"


def describe_verdict_counts(listed: ClaimList) -> str:
    """Say how many claims a run has, by verdict."""
    total = pluralize(sum(listed.counts.values()), "claim")
    found = ", ".join(f"{number:,} {_say(verdict)}" for verdict, number in listed.counts.items())
    return f"Run {clean(listed.run_id)}: {total}" + (f" ({found})" if found else "")


def _say(verdict: str) -> str:
    return NOT_SCORED if verdict == UNSCORED else verdict.replace("_", " ")


def print_claims(listed: ClaimList, console: Console) -> None:
    """Print claims, each with its verdict, evidence and reason."""
    writer = Writer(console)
    writer.say(describe_verdict_counts(listed), "bold")
    if not listed.claims:
        writer.say("No claim matches." if listed.counts else "This run has no claims yet.")
    numbers = count(1)
    for name, rows in listed.group():
        if name:
            writer.skip()
            writer.say(f"{name}: {pluralize(len(rows), 'claim')}", "bold")
        for row in rows:
            writer.skip()
            _print_claim(writer, mark_claim(row, next(numbers)), row)
    if listed.more:
        writer.skip()
        writer.say(f"Showing the first {len(listed.claims):,}. Use --limit to see more.", "dim")


def _print_claim(writer: Writer, claim: MarkedClaim, row: ClaimRow) -> None:
    look = LOOKS[claim.word]
    sign = look.sign if writer.is_utf else ""
    head = " ".join(filter(None, (f"{claim.number:>4}", sign, _say(claim.word))))
    notes = clean("; ".join((row.item_id, *claim.notes)))
    writer.say(f"{head}  ({notes})", f"{look.style} bold")
    writer.say(clean(claim.text), indent=_INDENT)
    if claim.evidence:
        writer.say(f"{clean(claim.source)}: “{_shorten(claim.evidence)}”", "dim", indent=_INDENT)
    elif claim.source:
        writer.say(f"Source: {clean(claim.source)}", "dim", indent=_INDENT)
    if claim.reason:
        writer.say(f"Reason: {clean(claim.reason)}", indent=_INDENT)


def _shorten(text: str) -> str:
    """Return text on one line, a long one without its middle."""
    line, half = clean(text), _QUOTE // 2
    return line if len(line) <= _QUOTE else f"{line[:half].rstrip()} […] {line[-half:].lstrip()}"


def to_claims_document(listed: ClaimList) -> dict[str, Any]:
    """Return claims as plain values for JSON."""
    return {
        "format": FORMAT,
        "run_id": listed.run_id,
        "judgement": listed.judgement,
        "counts": listed.counts,
        "more": listed.more,
        "claims": [row.to_dict() for row in listed.claims],
    }


def write_claims_csv(rows: Sequence[ClaimRow]) -> str:
    """Return claims as CSV, one line per claim; no cell is a formula to a spreadsheet."""
    flat = [flatten_claim(row) for row in rows]
    columns = list_frame_columns(flat)
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    for values in flat:
        writer.writerow([guard_cell(_write_cell(values.get(name))) for name in columns])
    return text.getvalue()


def _write_cell(value: object) -> object:
    """Return a value as our own CSV files have it: truth as in JSON, times with a T."""
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value).lower() if isinstance(value, bool) else value


_PAGE: Final = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}
body{{margin:1.5rem auto;padding:0 1rem;max-width:48rem;background:Canvas;color:CanvasText}}
.cw h2,.cw h3{{line-height:1.25;margin:1.6em 0 .4em}}
.cw summary{{cursor:pointer}}
</style></head>
<body class="cw"><h1>{title}</h1>
{body}
</body></html>
"""


def render_claims_html(listed: ClaimList) -> str:
    """Return one self-contained page: every claim with its evidence and its marked answer."""
    parts = [f"<p>{escape(describe_verdict_counts(listed))}</p>"]
    if not listed.claims:
        parts.append("<p>No claim matches.</p>")
    if listed.more:
        parts.append(f"<p>The first {len(listed.claims):,} are shown.</p>")
    numbers = count(1)
    for name, rows in listed.group():
        if name:
            parts.append(f"<h2>{escape(name)}: {pluralize(len(rows), 'claim')}</h2>")
        parts += [_write_entry(row, next(numbers)) for row in rows]
    title = escape(f"Claims of run {clean(listed.run_id)}")
    return _PAGE.format(title=title, style=STYLE, body="\n".join(parts))


def _write_entry(row: ClaimRow, number: int) -> str:
    claim = mark_claim(row, number)
    marked = write_answer(row.answer_text or "", [claim])
    question = escape(clean(row.question))
    return (
        f"{write_claims([claim])}\n<details><summary>Question and answer</summary>"
        f"<p><strong>{question}</strong></p>{marked}</details>"
    )
