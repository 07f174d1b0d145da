"""Shows a checked answer: on a terminal, in a notebook, and as JSON.

Everything shown was written by others, and some of it wants to be more than text: nothing here
reads markup, and what does not print is escaped. Without colours every claim stands in brackets
with a sign, so that the meaning survives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final, NamedTuple

import msgspec
from rich.console import Console
from rich.text import Text

from claimwise.calibration.probability_text import describe_map_basis
from claimwise.errors import make_printable
from claimwise.report.format import UNCHECKED, describe_bounds, pluralize, show_percent
from claimwise.report.marked import (
    LOOKS,
    NOT_SCORED,
    STYLE,
    MarkedClaim,
    cut_answer,
    write_answer,
    write_claims,
)
from claimwise.types.rows import Source
from claimwise.types.verdicts import CheckResult, ClaimVerdict, Span

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
_OPEN, _CLOSE = "⟦", "⟧"
_BRACKETS = str.maketrans({_OPEN: "\\u27e6", _CLOSE: "\\u27e7"})
_QUOTE: Final = 240
_NARROW: Final = 60


class _Shown(NamedTuple):
    """A claim that is listed, and its verdict."""

    marked: MarkedClaim
    judged: ClaimVerdict


@dataclass(frozen=True, kw_only=True, slots=True)
class RateCheck:
    """The least rate that was asked for, and whether the answer has it; None: can't be said."""

    fail_under: float
    passed: bool | None


def check_rate(result: CheckResult, fail_under: float) -> RateCheck:
    """Compare the rate with a limit.

    Claims that could not be judged may be supported or not: an answer passes when it would even
    if none of them were, and fails when it would even if all of them were.
    """
    asked = result.judged + result.unscored
    if not result.judged:
        return RateCheck(fail_under=fail_under, passed=None)
    if result.supported / asked >= fail_under:
        return RateCheck(fail_under=fail_under, passed=True)
    could_pass = (result.supported + result.unscored) / asked >= fail_under
    return RateCheck(fail_under=fail_under, passed=None if could_pass else False)


def print_checked(result: CheckResult, console: Console) -> None:
    """Print the answer with its claims marked, each claim with its evidence, and the rate."""
    coloured = console.color_system is not None and not console.no_color
    shown = list(_number_claims(result))
    if result.answer.strip():
        _print_indented(console, _mark_answer(result.answer, shown, coloured=coloured), 0)
        console.print()
    for claim in shown:
        _print_claim(claim, console)
    if shown:
        console.print()
    console.print(Text(describe_result(result), "bold"), soft_wrap=True)
    if result.calibration is not None:
        told = f"probabilities of support are {describe_map_basis(result.calibration)}"
        console.print(Text(told), soft_wrap=True)


def _number_claims(result: CheckResult) -> Iterator[_Shown]:
    number = 0
    for judged in result.claims:
        word = judged.verdict or (NOT_SCORED if judged.unscored else None)
        if word is not None:
            number += 1
            yield _Shown(_mark_claim(number, word, judged), judged)


def _mark_claim(number: int, word: str, judged: ClaimVerdict) -> MarkedClaim:
    return MarkedClaim(
        number=number,
        word=word,
        text=judged.claim.wording,
        start=judged.claim.start,
        end=judged.claim.end,
        notes=tuple(_describe_certainty(judged)),
        evidence=judged.span.text if judged.span else None,
        source=judged.span.source_id if judged.span else None,
        reason=judged.reason or None,
    )


def _describe_certainty(judged: ClaimVerdict) -> Iterator[str]:
    """Yield why a claim has no verdict, and how sure the judge is of the one that it has."""
    if judged.unscored:
        yield judged.unscored
    if judged.confidence is not None:
        yield f"confidence {show_percent(judged.confidence)}"
    if judged.calibrated is not None:
        yield f"calibrated: supported {show_percent(judged.calibrated)}"


def render_checked_html(result: CheckResult) -> str:
    """Return a checked answer as a piece of HTML: marked, with its claims and the rate.

    Styles are inside, nothing comes from outside, and no script: notebooks show it as it is.
    """
    claims = [shown.marked for shown in _number_claims(result)]
    warnings = "".join(f"<p>{escape(make_printable(text))}</p>" for text in result.warnings)
    return (
        f'<div class="cw"><style>{STYLE}</style>{write_answer(result.answer, claims)}'
        f"{write_claims(claims)}<p><strong>{escape(describe_result(result))}</strong></p>"
        f"{warnings}</div>"
    )


def _mark_answer(answer: str, claims: Sequence[_Shown], *, coloured: bool) -> Text:
    """Return the answer with numbers at its claims, in their colours or in brackets."""
    text = Text()
    for piece, claim in cut_answer(answer, [shown.marked for shown in claims]):
        part = _show_lines(piece)
        if claim is None:
            text.append(part, "dim" if coloured else "")
            continue
        look = LOOKS[claim.word]
        if coloured:
            text.append(part, look.style)
            text.append(f"({claim.number})", f"{look.style} dim")
        else:
            text.append(f"{_OPEN}{claim.number}{look.sign} {part}{_CLOSE}")
    text.rstrip()
    return text


def _show_lines(text: str) -> str:
    """Return foreign text with its line breaks."""
    lines = text.replace("\r\n", "\n").replace("\t", "    ").split("\n")
    return "\n".join(map(_escape, lines))


def _escape(text: str) -> str:
    """Return foreign text as it may be printed; brackets of its own can't pass for ours."""
    return make_printable(text).translate(_BRACKETS)


def _print_claim(shown: _Shown, console: Console) -> None:
    marked, judged = shown
    look = LOOKS[marked.word]
    notes = ", ".join(map(_one_line, marked.notes))
    head = Text.assemble(
        (f"{marked.number:>3} {look.sign} {marked.word}", f"{look.style} bold"),
        f" ({notes})" if notes else "",
        f"  {_one_line(judged.claim.wording)}",
    )
    _print_indented(console, head, 0, hang=6)
    for line in _describe_claim(judged):
        _print_indented(console, line, 6)


def _describe_claim(judged: ClaimVerdict) -> Iterator[Text]:
    if judged.reason:
        yield Text(_one_line(judged.reason))
    if judged.exceeds and judged.exceeds not in judged.reason:
        yield Text(f"beyond the source: “{_quote(judged.exceeds)}”")
    if judged.span:
        yield _show_span(judged.span)
    for conflict in judged.conflicts:
        yield Text("but ").append_text(_show_span(conflict))
    if judged.claim.ambiguous:
        yield Text("it is not certain whom or what the claim means: judged as it stands", "dim")
    if judged.claim.compound:
        signs = ", ".join(_one_line(sign) for sign in judged.claim.compound)
        yield Text(f"may hold more than one statement: {signs}", "dim")


def _show_span(span: Span) -> Text:
    place = f"{_one_line(span.source_id)}:{span.start}–{span.end}"
    return Text.assemble((place, "bold"), f" “{_quote(span.text)}”")


def _print_indented(console: Console, text: Text, indent: int, *, hang: int | None = None) -> None:
    """Print text that folds under itself; a narrow console gets no indent.

    Line by line: what is printed at once rich goes through once for every line.
    """
    if console.width < _NARROW:
        indent = hang = 0
    hang = indent if hang is None else hang
    for number, line in enumerate(text.wrap(console, console.width - hang)):
        console.print(Text(" " * (hang if number else indent)).append_text(line))


def describe_result(result: CheckResult) -> str:
    """Say in one line what was found, and by which judge."""
    by = make_printable(f"judged by {result.verifier}, {result.agreement or UNCHECKED}")
    if not result.judged:
        unscored = f"{pluralize(result.unscored, 'claim')} not scored"
        return f"{unscored if result.unscored else 'no checkable claims'}: no rate · {by}"
    wrong = {verdict: n for verdict, n in result.counts.items() if n and verdict != "supported"}
    parts = [
        f"{result.supported:,} of {pluralize(result.judged, 'claim')} supported "
        f"({show_percent(result.rate)})",
        *(f"{n} {verdict}" for verdict, n in wrong.items()),
    ]
    if result.unscored:
        bounds = result.bounds
        told = "" if bounds is None else f" ({describe_bounds(*bounds, result.unscored)})"
        parts.append(f"{pluralize(result.unscored, 'claim')} not scored{told}")
    return " · ".join([*parts, by])


def _one_line(text: str) -> str:
    return _escape(" ".join(text.split()))


def _quote(text: str) -> str:
    """Return a span on one line, a long one without its middle."""
    line = _one_line(text)
    half = _QUOTE // 2
    return line if len(line) <= _QUOTE else f"{line[:half].rstrip()} […] {line[-half:].lstrip()}"


def to_checked_document(
    result: CheckResult,
    sources: Sequence[Source],
    *,
    question: str | None = None,
    gate: RateCheck | None = None,
) -> dict[str, Any]:
    """Return a checked answer as plain values for JSON: docs/check.md lists the fields."""
    return {
        "format": FORMAT,
        "answer": result.answer,
        "question": question,
        "verifier": result.verifier,
        "agreement": result.agreement,
        "calibration": msgspec.to_builtins(result.calibration),
        "rate": result.rate,
        "judged": result.judged,
        "unscored": result.unscored,
        "bounds": result.bounds,
        "counts": dict(result.counts),
        "claims": [_to_claim_document(judged) for judged in result.claims],
        "sources": [_to_source_document(source) for source in sources],
        "warnings": list(result.warnings),
        "gate": None if gate is None else {"fail_under": gate.fail_under, "passed": gate.passed},
    }


def _to_claim_document(judged: ClaimVerdict) -> dict[str, Any]:
    claim, rest = msgspec.to_builtins(judged.claim), msgspec.to_builtins(judged)
    del rest["claim"]
    return {**claim, **rest}


def _to_source_document(source: Source) -> dict[str, Any]:
    document = msgspec.to_builtins(source)
    del document["corpus_ver"]
    document["characters"] = len(document.pop("source_text"))
    return {name: value for name, value in document.items() if value is not None}
