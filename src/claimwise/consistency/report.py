"""Shows how far several answers agree: on a terminal, and as JSON. Never a verdict."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.text import Text

from claimwise.consistency.values import (
    ComparedClaim,
    ConsistencyAccuracy,
    ConsistencyResult,
    RunConsistency,
)
from claimwise.errors import make_printable
from claimwise.openbook.report import print_line
from claimwise.report.format import (
    pluralize,
    show_number,
    show_percent,
    show_ranged_number,
    show_rate,
)
from claimwise.report.judges import describe_judge, judge_to_document
from claimwise.types.accuracy import Accuracy
from claimwise.types.results import JudgeNote

FORMAT: Final = 1  # of the JSON; a field that changes its meaning raises it
UNKNOWN: Final = "accuracy unknown: no claim has a label by people to compare with"
_MEANT: Final = {
    "grounded": "claims that people call supported",
    "closed_book": "claims that people call true",
}


def print_consistency(result: ConsistencyResult, console: Console) -> None:
    """Print every answer's claims with their agreement, and what it does not mean."""
    for answer in result.answers:
        agreement = show_percent(answer.agreement)
        print_line(console, 0, f"agreement {agreement}", answer.name)
        for claim in answer.claims:
            print_line(console, 2, describe_compared_claim(claim), claim.claim.wording)
            for line in _describe_against(claim):
                print_line(console, 6, "", line)
    console.print()
    console.print(Text(describe_consistency(result), "bold"), soft_wrap=True)
    _print_judge(result.judge, console)
    console.print(Text(result.caution), soft_wrap=True)


def _print_judge(judge: JudgeNote | None, console: Console) -> None:
    if judge is not None:
        console.print(Text(f"Judge: {describe_judge(judge)}"), soft_wrap=True)


def describe_compared_claim(claim: ComparedClaim) -> str:
    """Return how many of the others support and contradict a claim."""
    held = sum(other.verdict == "supported" for other in claim.others)
    against = sum(other.verdict == "contradicted" for other in claim.others)
    lost = len(claim.others) - claim.scored
    text = f"supported by {held} of {claim.scored}"
    if against:
        text += f", contradicted by {against}"
    return f"{text}, {lost} not scored" if lost else text


def _describe_against(claim: ComparedClaim) -> Iterator[str]:
    for other in claim.others:
        if other.verdict == "contradicted":
            yield f"{other.answer}: {other.reason}"


def describe_consistency(result: ConsistencyResult) -> str:
    """Return the means and the instrument in one line."""
    lost = f"; {result.unscored} comparisons not scored" if result.unscored else ""
    return make_printable(
        f"{pluralize(len(result.answers), 'answer')}, {pluralize(len(result.claims), 'claim')}: "
        f"mean agreement {show_percent(result.agreement)}, contradiction "
        f"{show_percent(result.contradiction)}{lost}; compared by {result.verifier}"
    )


def print_run_consistency(result: RunConsistency, console: Console) -> None:
    """Print the items of a run, the least consistent first, and how well agreement does."""

    def place(pair: tuple[str, ConsistencyResult]) -> tuple[bool, float, str]:
        return pair[1].agreement is None, pair[1].agreement or 0.0, pair[0]

    for item_id, item in sorted(result.items.items(), key=place):
        head = f"{show_percent(item.agreement):>7} {show_percent(item.contradiction):>7}"
        told = f"{item_id}  ({len(item.answers)} answers, {len(item.claims)} claims)"
        print_line(console, 0, head, told)
    console.print()
    for line in describe_run_consistency(result):
        console.print(Text(line, "bold"), soft_wrap=True)
    _print_judge(result.judge, console)
    console.print(Text(result.caution), soft_wrap=True)


def describe_run_consistency(result: RunConsistency) -> Iterator[str]:
    """Yield the mean, what was left out, and the measured accuracy, a line each."""
    left_out = (
        f"; {pluralize(result.left_out, 'item')} with fewer than two answers left out"
        if result.left_out
        else ""
    )
    yield make_printable(
        f"run {result.run_id}, {pluralize(len(result.items), 'item')}: mean agreement "
        f"{show_percent(result.agreement)}; columns: agreement, contradiction{left_out}; compared "
        f"by {result.verifier}"
    )
    if not result.accuracy:
        yield UNKNOWN
    for measured in result.accuracy:
        yield describe_accuracy(measured)


def describe_accuracy(measured: ConsistencyAccuracy) -> str:
    """Say how well agreement finds the claims that people approve of, beside counting words."""
    own, other = measured.accuracy, measured.baseline
    lost = f", {own.unscored} not scored" if own.unscored else ""
    auc = _show(show_ranged_number, own, "auc")
    balanced = _show(show_rate, own, "balanced_accuracy")
    return (
        f"{_MEANT[measured.labels]}, {pluralize(own.n, 'claim')} of "
        f"{pluralize(own.groups, 'item')}{lost}: AUC {auc}, by counting words "
        f"{show_number(other.auc)}; balanced accuracy {balanced} at a threshold of "
        f"{measured.threshold:g}, by counting words {show_percent(other.balanced_accuracy)}"
    )


def _show(show: Callable[..., str], accuracy: Accuracy, name: str) -> str:
    return show(getattr(accuracy, name), *(accuracy.intervals.get(name) or (None, None)))


def to_consistency_document(result: ConsistencyResult) -> dict[str, Any]:
    """Return compared answers as plain values for JSON: docs/consistency.md lists the fields."""
    return {
        "format": FORMAT,
        "caution": result.caution,
        "question": result.question,
        "verifier": result.verifier,
        "judge": judge_to_document(result.judge) if result.judge else None,
        "accuracy": None,
        "agreement": result.agreement,
        "contradiction": result.contradiction,
        "unscored": result.unscored,
        "answers": [
            {
                "name": answer.name,
                "agreement": answer.agreement,
                "contradiction": answer.contradiction,
                "claims": [_to_claim(claim) for claim in answer.claims],
            }
            for answer in result.answers
        ],
        "warnings": list(result.warnings),
    }


def _to_claim(claim: ComparedClaim) -> dict[str, Any]:
    return {
        "claim_id": claim.claim_id,
        "text": claim.claim.text,
        "wording": claim.claim.wording,
        "start": claim.claim.start,
        "end": claim.claim.end,
        "agreement": claim.agreement,
        "contradiction": claim.contradiction,
        "bounds": claim.bounds,
        "others": msgspec.to_builtins(claim.others),
    }


def to_run_document(result: RunConsistency) -> dict[str, Any]:
    """Return a compared run as plain values for JSON."""
    return {
        "format": FORMAT,
        "caution": result.caution,
        "run_id": result.run_id,
        "verifier": result.verifier,
        "judge": judge_to_document(result.judge) if result.judge else None,
        "accuracy": msgspec.to_builtins(result.accuracy) or None,
        "agreement": result.agreement,
        "left_out": result.left_out,
        "items": {item_id: to_consistency_document(item) for item_id, item in result.items.items()},
    }
