"""Shows an answer that was checked against a corpus: on a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from claimwise.errors import make_printable
from claimwise.report.format import (
    UNCHECKED,
    describe_bounds,
    pluralize,
    show_percent,
)
from claimwise.types.corpus import NO_PASSAGE, CorpusInfo, CorpusVerdict, OpenBookResult
from claimwise.types.verdicts import Span

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
_QUOTE: Final = 240
_LOOKS: Final = {
    "supported": ("✓", "green"),
    "unlinked": ("○", "yellow"),
    "overreach": ("△", "magenta"),
    "contradicted": ("✗", "red"),
    "stale": ("◷", "cyan"),
    NO_PASSAGE: ("–", "dim"),
    None: ("?", "dim underline"),
}


def print_openbook(result: OpenBookResult, console: Console) -> None:
    """Print the claims with their evidence, and what they add up to."""
    shown = [claim for claim in result.claims if claim.outcome or claim.judged.unscored]
    for number, claim in enumerate(shown, start=1):
        sign, style = _LOOKS[claim.outcome]
        judged = claim.judged
        word = show_outcome(claim)
        sure = (
            "" if judged.confidence is None else f" (confidence {show_percent(judged.confidence)})"
        )
        print_line(console, 0, f"{number:>3} {sign} {word}{sure}", judged.claim.wording, style)
        for line in describe_corpus_evidence(claim):
            print_line(console, 6, "", line)
    if shown:
        console.print()
    console.print(Text(describe_openbook(result), "bold"), soft_wrap=True)
    console.print(Text(describe_corpus(result.corpus), "dim"), soft_wrap=True)


def print_line(console: Console, indent: int, head: str, text: str, style: str = "") -> None:
    """Print foreign text as one line that can't steer the terminal, behind a head of ours."""
    line = Text(" " * indent)
    if head:
        line.append(make_printable(head), f"{style} bold").append("  ")
    console.print(line.append(one_line(text)), soft_wrap=True)


def show_outcome(claim: CorpusVerdict) -> str:
    """Return the outcome in words, or that there is none and its code."""
    if claim.outcome is None:
        return f"not scored ({claim.judged.unscored})"
    return claim.outcome.replace("_", " ")


def one_line(text: str) -> str:
    """Return foreign text on one line."""
    return make_printable(" ".join(text.split()))


def describe_corpus_evidence(claim: CorpusVerdict) -> Iterator[str]:
    """Yield the reason, the span and those that say otherwise, and what was looked through."""
    judged = claim.judged
    if judged.reason:
        yield judged.reason
    if judged.span is not None:
        yield _show_span(judged.span)
    for span in judged.conflicts:
        yield f"but {_show_span(span)}"
    if claim.passages and judged.span is None:
        best = claim.passages[0]
        yield (
            f"the closest of {pluralize(len(claim.passages), 'passage')}: "
            f"{best.source_id}:{best.start}–{best.end}, with {best.found:.0%} of its words"
        )


def _show_span(span: Span) -> str:
    text = " ".join(span.text.split())
    if len(text) > _QUOTE:
        text = f"{text[: _QUOTE // 2].rstrip()} […] {text[-_QUOTE // 2 :].lstrip()}"
    return f"{span.source_id}:{span.start}–{span.end} “{text}”"


def describe_openbook(result: OpenBookResult) -> str:
    """Return the rate, its bounds, the counts and the judge in one line."""
    found = ", ".join(
        f"{count} {outcome.replace('_', ' ')}" for outcome, count in result.counts.items() if count
    )
    rate = show_percent(result.factual_precision)
    parts = [f"factual precision {rate}: {found or 'no claim judged'}"]
    undecided = result.asked - result.decided
    if undecided and result.bounds is not None:
        beside = f", {result.unscored} of them not scored" if result.unscored else ""
        bounds = describe_bounds(*result.bounds, undecided)
        parts.append(f"{pluralize(undecided, 'claim')} undecided{beside} ({bounds})")
    parts.append(f"judged by {result.verifier}, {result.agreement or UNCHECKED}")
    return make_printable(" · ".join(parts))


def describe_corpus(corpus: CorpusInfo) -> str:
    """Say which corpus was searched."""
    version = "" if corpus.version is None else f" version {corpus.version}"
    return make_printable(
        f"corpus {corpus.name}{version}: {pluralize(corpus.documents, 'document')}, "
        f"{pluralize(corpus.passages, 'passage')}"
    )


def to_openbook_document(result: OpenBookResult, *, question: str | None = None) -> dict[str, Any]:
    """Return a checked answer as plain values for JSON: docs/openbook.md lists the fields."""
    return {
        "format": FORMAT,
        "answer": result.answer,
        "question": question,
        "verifier": result.verifier,
        "agreement": result.agreement,
        "factual_precision": result.factual_precision,
        "bounds": result.bounds,
        "asked": result.asked,
        "decided": result.decided,
        "unscored": result.unscored,
        "counts": result.counts,
        "claims": [to_claim_document(claim) for claim in result.claims],
        "corpus": msgspec.to_builtins(result.corpus),
        "retrieval": msgspec.to_builtins(result.retrieval),
        "warnings": list(result.warnings),
    }


def to_claim_document(claim: CorpusVerdict) -> dict[str, Any]:
    """Return a claim with its outcome, verdict and passages as plain values."""
    judged = msgspec.to_builtins(claim.judged)
    return {
        **judged.pop("claim"),
        "outcome": claim.outcome,
        **judged,
        "passages": msgspec.to_builtins(claim.passages),
    }
