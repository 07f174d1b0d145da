"""Shows which judge is better, which differences are real, and which judge to use."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import msgspec
from rich.text import Text

from claimwise.agreement.values import Figure
from claimwise.command.options import console, print_table
from claimwise.errors import make_printable
from claimwise.judge_comparison.advice import describe_difference, list_advice
from claimwise.judge_comparison.probes import NO_MODEL
from claimwise.judge_comparison.values import JudgeComparison, JudgeFigures, ProbeFigures
from claimwise.metrics.claim_differences import LEVEL
from claimwise.report.format import (
    MISSING,
    pluralize,
    show_percent,
    show_percent_range,
    show_points,
    show_ranged_number,
    show_rate,
)

SCHEMA: Final = "claimwise.judges-compare/1"
_PROBE_WORDS: Final = {
    "repeat": "asked again",
    "order": "sources reversed",
    "length": "answer padded",
    "template": "prompt version",
    "wording": "own wording",
}
_PROBE_CHANGES: Final = {
    "order": "the order of sources",
    "length": "the length of the answer",
    "template": "the version of the prompt",
    "wording": "its own wording",
}


def to_document(found: JudgeComparison) -> dict[str, Any]:
    """Return a comparison as plain values for JSON."""
    document: dict[str, Any] = msgspec.to_builtins(found)
    return {
        "schema": SCHEMA,
        **document,
        "findings": list(_list_findings(found)),
        "advice": list_advice(found),
        "method": list(_list_methods(found)),
    }


def print_judge_comparison(found: JudgeComparison) -> None:
    """Print a comparison, the answer first."""
    _print_lines([_describe_basis(found), *_list_findings(found)])
    _print_title("Which to use")
    _print_lines(list_advice(found))
    _print_title("Agreement with people")
    _print_agreement(found)
    _print_title("What it takes")
    _print_usage(found)
    _print_title("Verdicts")
    _print_verdicts(found)
    if any(judge.probes for judge in found.judges):
        _print_title("Bias probes: how often a change that must not matter flips the verdict")
        _print_probes(found)
    _print_title("How is this calculated?")
    _print_lines([*_list_methods(found), *_list_unscored(found), *found.notes])


def _print_title(title: str) -> None:
    page = console()
    page.print()
    page.print(Text(title, style="bold"))


def _print_lines(lines: Sequence[str]) -> None:
    page = console()
    for line in lines:
        page.print(Text(make_printable(line)))


def _describe_basis(found: JudgeComparison) -> str:
    claims, groups = pluralize(found.claims, "claim"), pluralize(found.groups, "group")
    return f"{claims} in {groups}, from {found.on}."


def _list_findings(found: JudgeComparison) -> Iterator[str]:
    """Say which differences are real, real ones first, and what moves verdicts."""
    for one in sorted(found.differences, key=lambda d: not d.real):
        yield describe_difference(one, found)
    for judge in found.judges:
        for probe in judge.probes:
            if _is_real(probe.adjusted_p_direction) or _is_real(probe.adjusted_p_beyond_repeat):
                change = _PROBE_CHANGES[probe.probe]
                yield f"{judge.name} is swayed by {change}: that {_describe_effect(probe)}."


# Tables


def _show(figure: Figure) -> str:
    """Write a share with its range: ``86% (80–90%)``."""
    return show_rate(figure.value, figure.low, figure.high)


def _show_number(figure: Figure) -> str:
    """Write another figure with its range: ``0.54 (0.42–0.63)``."""
    return show_ranged_number(figure.value, figure.low, figure.high)


def _print_agreement(found: JudgeComparison) -> None:
    right = ("balanced accuracy", "AUC", "kappa", "unscored")
    print_table(
        ("judge", *right),
        [
            [
                _name(judge),
                _show(judge.balanced_accuracy),
                _show_number(judge.auc),
                _show_number(judge.kappa),
                show_percent(judge.unscored_share.value),
            ]
            for judge in _best_first(found)
        ],
        right=right,
    )


def _best_first(found: JudgeComparison) -> list[JudgeFigures]:
    return sorted(
        found.judges, key=lambda j: (j.baseline, -(j.balanced_accuracy.value or 0.0), j.name)
    )


def _name(judge: JudgeFigures) -> str:
    return f"{judge.name} (baseline)" if judge.baseline else judge.name


def _print_usage(found: JudgeComparison) -> None:
    right = ("tokens in", "tokens out", "US$ per 1,000 claims", "seconds per claim")
    print_table(
        ("judge", *right),
        [
            [
                _name(judge),
                _count(judge.usage.input_tokens),
                _count(judge.usage.output_tokens),
                _show_price(judge.usage.usd_per_1000_claims),
                _show_seconds(judge.usage.seconds_per_claim),
            ]
            for judge in _best_first(found)
        ],
        right=right,
    )


def _count(tokens: int | None) -> str:
    return MISSING if tokens is None else f"{tokens:,}"


def _show_price(price: float | None) -> str:
    if price is None:
        return "unknown (--price)"
    return "0" if price == 0 else f"{price:,.4f}"


def _show_seconds(seconds: float | None) -> str:
    return "all replies kept" if seconds is None else f"{seconds:.2g}"


def _print_verdicts(found: JudgeComparison) -> None:
    right = ("said", "by people", "precision", "recall")
    print_table(
        ("judge", "verdict", *right),
        [
            [
                _name(judge),
                one.verdict,
                f"{one.said:,}",
                f"{one.told:,}",
                _show(one.precision),
                _show(one.recall),
            ]
            for judge in _best_first(found)
            for one in judge.verdicts
        ],
        right=right,
    )


def _print_probes(found: JudgeComparison) -> None:
    right = ("claims", "flips", "to supported", "away")
    rows = []
    for judge in _best_first(found):
        for probe in judge.probes:
            words = _PROBE_WORDS[probe.probe]
            if probe.why == NO_MODEL:
                continue
            if probe.why is not None:
                rows.append([judge.name, words, MISSING, MISSING, MISSING, MISSING, probe.why])
                continue
            rows.append(
                [
                    judge.name, words, f"{probe.claims:,}", _show(probe.flips),
                    f"{probe.towards:,}", f"{probe.away:,}", _judge_probe(probe),
                ]
            )  # fmt: skip
    print_table(("judge", "change", *right, ""), rows, right=right)


def _is_real(p: float | None) -> bool:
    return p is not None and p <= LEVEL


def _describe_effect(probe: ProbeFigures) -> str:
    """Say what a change that is shown to sway a judge does to its verdicts."""
    if not _is_real(probe.adjusted_p_direction):
        return "flips more verdicts than asking again"
    shift = probe.shift.value or 0.0
    way = "towards" if shift > 0 else "away from"
    return f"moves verdicts {way} “supported” ({show_points(shift)} points)"


def _judge_probe(probe: ProbeFigures) -> str:
    """Say in a few words what a probe shows; asking again is the yardstick of the others."""
    if _is_real(probe.adjusted_p_direction):
        return f"real shift: {show_points(probe.shift.value or 0.0)} points"
    if _is_real(probe.adjusted_p_beyond_repeat):
        return "real: more than asked again"
    if not probe.towards and not probe.away:
        return "no verdict flips"
    return "" if probe.probe == "repeat" else "no bias shown"


# Words


def _list_methods(found: JudgeComparison) -> Iterator[str]:
    yield (
        "Balanced accuracy: the mean of the share of supported claims that a judge finds and the "
        "share of others that it rejects; guessing gives 50%. It, AUC, kappa, precision and recall "
        "need people's labels; unscored, cost, speed and probes do not."
    )
    yield (
        "Ranges are 95% intervals over groups (items, or what they belong to), each by itself. "
        + ("Claims count for as many as they were drawn from. " if found.weighted else "")
        + "Differences are paired: the same claims, judged by both."
    )
    left_out = (
        f"; {found.untested} more, in which too few groups differ to show anything, are left out"
        if found.untested
        else ""
    )
    yield (
        f"Real: still there after correcting for {pluralize(found.tests, 'test')} "
        f"(Benjamini-Hochberg, {LEVEL:.0%} false discoveries){left_out}. The tests compare "
        "balanced accuracy for each pair of judges, and for each probe whether it moves verdicts "
        "in one direction and whether it flips more of them than asking again. Each is a sign-flip "
        "test over whole groups."
    )
    if any(judge.probes for judge in found.judges):
        yield (
            f"Probes: about {pluralize(found.probe_claims, 'claim')}; a flip is a change between "
            "“supported” and any other verdict."
        )


def _list_unscored(found: JudgeComparison) -> Iterator[str]:
    for judge in found.judges:
        if judge.unscored:
            reasons = ", ".join(f"{name} {n:,}" for name, n in judge.unscored_reasons.items())
            low, high = judge.balanced_accuracy_bounds or (None, None)
            yield (
                f"{judge.name}: {pluralize(judge.unscored, 'claim')} unscored ({reasons}); its "
                f"balanced accuracy lies in {show_percent_range(low, high)} if they all count as "
                "wrong, or as right."
            )
        for probe in judge.probes:
            if probe.lost or probe.rejected:
                yield (
                    f"{judge.name}, {_PROBE_WORDS[probe.probe]}: {probe.lost:,} claims have a "
                    f"verdict only before or only after; {probe.rejected:,} were not restated "
                    "faithfully and were left out."
                )
