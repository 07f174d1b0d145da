"""Shows an answer that went through the cascade: on a terminal, and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.table import Table
from rich.text import Text

from claimwise.checking.answer_counts import describe_judged, describe_skipped
from claimwise.errors import make_printable
from claimwise.openbook.report import describe_corpus, print_line, show_outcome, to_claim_document
from claimwise.report.format import (
    MISSING,
    UNCHECKED,
    pluralize,
    show_percent,
    show_percent_range,
)
from claimwise.types.closed_book import FACT_LABELS
from claimwise.types.corpus import CascadeClaim, CascadeResult, CascadeRunResult, StageReport

_SHOWN: Final = 20  # claims for people
FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
NAMES: Final = {"closed_book": "closed book", "corpus": "corpus", "people": "people"}
_LOOKS: Final = {
    "true": ("✓", "green"),
    "false": ("✗", "red"),
    "non_factual": ("·", "dim"),
    None: ("?", "yellow"),
}
_COLUMNS: Final = (
    "stage", "claims", "decided", "passed on", "requests", "tokens in", "tokens out", "cost",
    "seconds",
)  # fmt: skip


def print_cascade(result: CascadeResult, console: Console) -> None:
    """Print where every claim ended, what each stage took, and the rates before and after."""
    for number, claim in enumerate(result.claims, start=1):
        _print_claim(number, claim, console)
    if result.claims:
        console.print()
    console.print(_make_table(result.stages))
    console.print()
    for line in describe_cascade(result):
        console.print(Text(line, "bold"), soft_wrap=True)
    console.print(Text(describe_corpus(result.corpus), "dim"), soft_wrap=True)


def _print_claim(number: int, claim: CascadeClaim, console: Console) -> None:
    sign, style = _LOOKS[claim.decided]
    word = claim.decided or "for people"
    print_line(console, 0, f"{number:>3} {sign} {word} ({NAMES[claim.stage]})", claim.text, style)
    print_line(console, 6, "", claim.why)
    if claim.corpus is not None:
        first = claim.label or f"not scored ({claim.unscored})"
        doubts = ", ".join(doubt for doubt in claim.doubts if doubt != claim.label)
        flagged = f", {doubts}" if doubts and claim.label else ""
        outcome = show_outcome(claim.corpus)
        print_line(console, 6, "", f"judge: {first}{flagged}; corpus: {outcome}")
        span = claim.corpus.judged.span
        if span is not None:
            print_line(console, 6, "", f"{span.source_id}:{span.start}–{span.end} “{span.text}”")


def _make_table(stages: Sequence[StageReport]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in _COLUMNS:
        table.add_column(column, justify="left" if column == "stage" else "right")
    for stage in stages:
        cost = MISSING if stage.cost is None else f"{stage.cost:.4f}"
        waiting = stage.stage == "people"
        row = (
            NAMES[stage.stage],
            f"{stage.claims:,}",
            MISSING if waiting else f"{stage.decided:,}",
            f"{stage.passed_on:,} waiting" if waiting else f"{stage.passed_on:,}",
            f"{stage.calls:,}",
            f"{stage.input_tokens:,}",
            f"{stage.output_tokens:,}",
            cost,
            MISSING if waiting else f"{stage.seconds:.2f}",
        )
        table.add_row(*map(Text, row))
    return table


def describe_cascade(result: CascadeResult) -> list[str]:
    """Return the rates, the first stage alone and the cascade, and who is how far to be trusted."""
    queued = pluralize(len(result.queue), "claim")
    return [
        f"closed book alone: factual precision {show_percent(result.first_precision)}"
        f"{_between(result.first_bounds)}",
        f"after the cascade: factual precision {show_percent(result.precision)}"
        f"{_between(result.bounds)}; {queued} for people",
        *(
            make_printable(f"{stage.instrument}: {stage.agreement or UNCHECKED}")
            for stage in result.stages
            if stage.stage != "people"
        ),
    ]


def _between(bounds: tuple[float, float] | None) -> str:
    if bounds is None or bounds[0] == bounds[1]:
        return ""
    return f", {show_percent_range(*bounds)} whatever the undecided claims are"


def describe_cascade_run(result: CascadeRunResult) -> Iterator[str]:
    """Yield what a cascade did with a stored run, line by line."""
    yield describe_judged(result, "labelled", result.judged, result.seconds)
    yield from describe_skipped(result)
    yield f"the run {result.run_id} by {result.labeler}, {result.agreement or UNCHECKED}:"
    for label in FACT_LABELS:
        if result.labels.get(label):
            yield f"  {label:<14}{result.labels[label]:>9,}"
    for reason, count in result.unscored.items():
        yield f"  {'unscored':<14}{count:>9,}  {reason}"
    ended = ", ".join(f"{NAMES[stage]} {count:,}" for stage, count in result.stages.items())
    yield f"decided by: {ended}"
    rate = show_percent(result.factual_precision)
    yield f"factual precision {rate}{_between(result.bounds)}"
    for claim in result.queue[:_SHOWN]:
        yield f"for people: {claim.item_id}: {claim.claim_text} ({claim.why})"
    if len(result.queue) > _SHOWN:
        yield f"… and {len(result.queue) - _SHOWN:,} more for people: --queue FILE writes them all"


def to_cascade_run_document(result: CascadeRunResult) -> dict[str, Any]:
    """Return a run that went through the cascade as plain values for JSON."""
    return {
        "format": FORMAT,
        **msgspec.to_builtins(result),
        "factual_precision": result.factual_precision,
        "bounds": None if result.bounds is None else list(result.bounds),
    }


def to_cascade_document(result: CascadeResult) -> dict[str, Any]:
    """Return a cascade as plain values for JSON: docs/openbook.md lists the fields."""
    return {
        "format": FORMAT,
        "answer": result.answer,
        "first": {
            "judge": result.first.judge,
            "factual_precision": result.first_precision,
            "bounds": result.first_bounds,
        },
        "cascade": {"factual_precision": result.precision, "bounds": result.bounds},
        "stages": msgspec.to_builtins(result.stages),
        "claims": [_to_claim(claim) for claim in result.claims],
        "queued": len(result.queue),
        "corpus": msgspec.to_builtins(result.corpus),
        "retrieval": msgspec.to_builtins(result.retrieval),
        "warnings": list(result.warnings),
    }


def _to_claim(claim: CascadeClaim) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.to_builtins(claim)
    document["corpus"] = None if claim.corpus is None else to_claim_document(claim.corpus)
    return document
