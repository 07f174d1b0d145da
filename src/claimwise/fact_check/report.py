"""Shows a closed-book judgement: on a terminal, and as the JSON object that others know.

The object has ``claims``, ``factual_precision`` and ``summary_basis``; everything of ours is under
one more key, ``claimwise``, so that readers of the plain object need not know of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from operator import attrgetter
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from claimwise.errors import make_printable
from claimwise.fact_check.probe import is_ignorant
from claimwise.report.format import (
    UNCHECKED,
    describe_bounds,
    pluralize,
    show_percent,
    show_percent_range,
)
from claimwise.types.closed_book import (
    SET_ASIDE,
    FactCheckResult,
    FactcheckRunResult,
    FactClaim,
    ProbeRate,
    ProbeResult,
    TruthfulQaResult,
)

FORMAT: Final = 1  # of what is under the key ``claimwise``
_LOOKS: Final = {
    "true": ("✓", "green"),
    "false": ("✗", "red"),
    "unverifiable": ("○", "yellow"),
    "non_factual": ("·", "dim"),
    None: ("?", "dim underline"),
}
_FLAGS: Final = {
    "compound": "may hold more than one fact: half of it may be wrong",
    "opinion": "reads like a value judgement",
    "called_non_factual": "states something that can be checked",
    "second_look": "“true” with a number or a date: look again",
}


def to_factcheck_document(result: FactCheckResult, *, cost: float | None = None) -> dict[str, Any]:
    """Return a judged answer as plain values for JSON: docs/factcheck.md lists the fields."""
    return {
        "claims": [
            {"text": claim.text, "label": claim.label, "decision_basis": claim.decision_basis}
            for claim in result.scored
        ],
        "factual_precision": result.factual_precision,
        "summary_basis": result.summary_basis,
        "claimwise": {
            "format": FORMAT,
            "judge": result.judge,
            "prompt": result.prompt,
            "model": result.model,
            "served_by": result.served_by,
            "agreement": result.agreement or UNCHECKED,
            "domain_hint": result.frame.domain_hint,
            "question": result.frame.question,
            "counts": {**result.counts, "unscored": len(result.unscored)},
            "bounds": None if result.bounds is None else list(result.bounds),
            "precision_unflagged": result.precision_unflagged,
            "precision_as_labelled": result.precision_as_labelled,
            "set_aside": result.set_aside,
            **_list_places(result),
            "flags": list(result.flags),
            "warnings": list(result.warnings),
            "repeats": msgspec.to_builtins(result.repeats),
            "spent": {**msgspec.to_builtins(result.spent), "cost": cost},
        },
    }


def _list_places(result: FactCheckResult) -> dict[str, Any]:
    """Return where the claims stand: those with a label, without one, and those never asked."""
    numbers = {id(claim): f"c{number}" for number, claim in enumerate(result.scored, start=1)}
    return {
        "claims": [
            {"id": numbers[id(claim)], **_place(claim), "flags": list(claim.flags)}
            for claim in result.scored
        ],
        "unscored": [
            {
                "text": claim.text,
                **_place(claim),
                "reason": claim.unscored,
                "detail": claim.detail,
                "said": claim.said,
            }
            for claim in result.unscored
        ],
        "skipped": [{"text": claim.text, **_place(claim)} for claim in result.skipped],
        "invented_ids": list(result.invented),
        "second_look": [numbers[id(claim)] for claim in result.second_look],
    }


def _place(claim: FactClaim) -> dict[str, Any]:
    return {"piece": claim.piece, "start": claim.start, "end": claim.end}


def print_factcheck(result: FactCheckResult, console: Console) -> None:
    """Print the claims with their labels, and what they add up to."""
    shown = sorted((*result.claims, *result.skipped), key=attrgetter("start"))
    for number, claim in enumerate(shown, start=1):
        _print_claim(number, claim, console)
    if shown:
        console.print()
    console.print(Text(describe_factcheck(result), "bold"), soft_wrap=True)
    if result.summary_basis:
        console.print(Text(_one_line(result.summary_basis)), soft_wrap=True)
    for line in _describe_more(result):
        console.print(Text(line, "dim"), soft_wrap=True)


def _print_claim(number: int, claim: FactClaim, console: Console) -> None:
    sign, style = _LOOKS[claim.label]
    word = claim.label or f"not scored ({_one_line(claim.unscored or '')})"
    head = Text.assemble(
        (f"{number:>3} {sign} {word}", f"{style} bold"), f"  {_one_line(claim.text)}"
    )
    console.print(head, soft_wrap=True)
    for line in (claim.decision_basis, claim.detail):
        if line:
            console.print(Text(f"      {_one_line(line)}"), soft_wrap=True)
    for flag in claim.flags if claim.said is None else ():
        if flag in _FLAGS:
            console.print(Text(f"      {_FLAGS[flag]}", "dim"), soft_wrap=True)


def describe_factcheck(result: FactCheckResult) -> str:
    """Return the rate, its bounds, the counts and the judge in one line."""
    told = ", ".join(f"{count} {label}" for label, count in result.counts.items() if count)
    rate, bounds = show_percent(result.factual_precision), result.bounds
    parts = [f"factual precision {rate}: {told or 'no claim labelled'}"]
    if result.unscored and bounds is not None:
        codes = Counter(_one_line(claim.unscored or "") for claim in result.unscored)
        named = ", ".join(f"{count} {code}" for code, count in sorted(codes.items()))
        count = len(result.unscored)
        parts.append(f"{count} not scored ({named}; {describe_bounds(*bounds, count)})")
    parts.append(f"judged by {_one_line(result.judge)}, {result.agreement or UNCHECKED}")
    return " · ".join(parts)


def _describe_more(result: FactCheckResult) -> Iterator[str]:
    if result.set_aside:
        named = ", ".join(f"{count} {flag}" for flag, count in result.set_aside.items())
        rate = show_percent(result.precision_as_labelled)
        yield f"set aside: {named}; with them, as the judge labelled them: {rate}"
    if result.second_look:
        yield _describe_queue(len(result.second_look))
    if result.repeats is not None:
        shown = ", ".join(show_percent(rate) for rate in result.repeats.factual_precision)
        yield (
            f"asked {result.repeats.asked} times: {shown}; the label of {result.repeats.flipped} "
            f"of {pluralize(result.repeats.compared, 'sentence')} changed"
        )


def describe_judged_run(result: FactcheckRunResult) -> Iterator[str]:
    """Yield what a judged run adds up to, a line each."""
    rate, bounds = result.factual_precision, result.bounds
    line = f"factual precision {show_percent(rate)}"
    if result.unscored and bounds is not None:
        unscored = sum(result.unscored.values())
        claims = pluralize(unscored, "claim")
        line += f"; {claims} unscored: {describe_bounds(*bounds, unscored)}"
    yield line
    aside = {flag: result.unscored[flag] for flag in SET_ASIDE if flag in result.unscored}
    if aside:
        named = ", ".join(f"{count:,} {flag}" for flag, count in aside.items())
        yield f"labelled and not counted: {named}"
    if result.second_look:
        yield _describe_queue(len(result.second_look))
    if result.repeats > 1:
        yield (
            f"asked {result.repeats} times: the label of {result.flipped:,} of "
            f"{result.compared:,} claims changed; the first decides"
        )


def to_factcheck_run_document(
    result: FactcheckRunResult, *, cost: float | None = None
) -> dict[str, Any]:
    """Return a judged run as plain values for JSON."""
    document: dict[str, Any] = msgspec.to_builtins(result)
    return {
        "format": FORMAT,
        **document,
        "agreement": result.agreement or UNCHECKED,
        "factual_precision": result.factual_precision,
        "precision_unflagged": result.precision_unflagged,
        "bounds": None if result.bounds is None else list(result.bounds),
        "spent": {**document["spent"], "cost": cost},
    }


def print_probe(result: ProbeResult, console: Console) -> None:
    """Print how a judge did on made-up and on well-known facts."""
    for what, rate in (
        ("made up, called true", result.made_up_true),
        ("plainly true, called true", result.known_true),
        ("plainly false, called false", result.known_false),
    ):
        console.print(Text(f"{what:<28} {_show_probe_rate(rate)}"), soft_wrap=True)
    for text in result.fooled:
        console.print(Text(f"  ✗ {_one_line(text)}", "red"), soft_wrap=True)
    console.print(Text(describe_probe(result), "bold"), soft_wrap=True)


def describe_probe(result: ProbeResult) -> str:
    """Return what a probe says of a judge, and by which rule."""
    highest = "an unknown share" if result.highest is None else show_percent(result.highest)
    word = {
        "trusted": "trusted",
        "not_trusted": "not trusted",
        "inconclusive": "inconclusive: ask more with --n",
    }[result.verdict]
    if is_ignorant(result.known_true) or is_ignorant(result.known_false):
        return f"{_one_line(result.judge)}: {word} (it doesn't know plain facts: see its warnings)"
    return (
        f"{_one_line(result.judge)}: {word} (it may call up to {highest} of made-up claims true, "
        "by the upper end of the 95% range with unscored ones counted; the limit is "
        f"{show_percent(result.limit)})"
    )


def to_probe_document(result: ProbeResult, *, cost: float | None = None) -> dict[str, Any]:
    """Return a probe as plain values for JSON."""
    document: dict[str, Any] = msgspec.to_builtins(result)
    for name in ("made_up_true", "known_true", "known_false"):
        document[name]["rate"] = getattr(result, name).rate
    document["spent"]["cost"] = cost
    return {"format": FORMAT, **document}


def print_truthfulqa(result: TruthfulQaResult, console: Console) -> None:
    """Print how a judge did on TruthfulQA."""
    console.print(Text(f"TruthfulQA, {pluralize(result.questions, 'question')}"))
    for what, rate in (
        ("false answers, called true", result.false_called_true),
        ("false answers, called false", result.false_called_false),
        ("true answers, called true", result.true_called_true),
    ):
        console.print(Text(f"{what:<28} {_show_probe_rate(rate)}"), soft_wrap=True)
    for text in result.believed:
        console.print(Text(f"  ✗ {_one_line(text)}", "red"), soft_wrap=True)
    if result.verdict is not None:
        word = result.verdict.replace("_", " ")
        told = f"{_one_line(result.judge)}: {word} (the limit is {show_percent(result.limit)})"
        console.print(Text(told, "bold"), soft_wrap=True)


def to_truthfulqa_document(
    result: TruthfulQaResult, *, cost: float | None = None
) -> dict[str, Any]:
    """Return a probe on TruthfulQA as plain values for JSON."""
    document: dict[str, Any] = msgspec.to_builtins(result)
    for name in ("false_called_true", "false_called_false", "true_called_true"):
        document[name]["rate"] = getattr(result, name).rate
    document["spent"]["cost"] = cost
    return {"format": FORMAT, "data": "truthfulqa", **document}


def _show_probe_rate(rate: ProbeRate) -> str:
    if rate.low is None or rate.high is None:
        return f"nothing scored, {rate.unscored} unscored"
    beside = f", {rate.unscored} unscored" if rate.unscored else ""
    return (
        f"{rate.hits:>4} of {rate.scored} = {show_percent(rate.rate)} "
        f"({show_percent_range(rate.low, rate.high)}){beside}"
    )


def _describe_queue(count: int) -> str:
    return f"called true with a number or a date: {pluralize(count, 'claim')} to look at again"


def _one_line(text: str) -> str:
    return make_printable(" ".join(text.split()))
