"""How a checked answer is shown: with colours, without, and when its text is hostile."""

from __future__ import annotations

import io
import json
from datetime import date
from typing import Any

import pytest
from rich.console import Console

from claimwise.checking.report import (
    check_rate,
    describe_result,
    print_checked,
    to_checked_document,
)
from claimwise.types.rows import Source, Verdict
from claimwise.types.verdicts import AnswerClaim, CheckResult, ClaimVerdict, Mark, Scores, Span

ANSWER = "It is 200 m tall [1].\n- Dogs may come in.\nAsk me more!"


def judged(
    text: str, verdict: Verdict | None = None, *, answer: str = ANSWER, **more: object
) -> ClaimVerdict:
    start = answer.index(text)
    claim = AnswerClaim(text=text, start=start, end=start + len(text), wording=text)
    return ClaimVerdict(claim=claim, verdict=verdict, **more)  # type: ignore[arg-type]


def make_result(*claims: ClaimVerdict, answer: str = ANSWER, **more: object) -> CheckResult:
    return CheckResult(answer=answer, claims=claims, verifier="verifier:x-1", **more)  # type: ignore[arg-type]


TALL = judged(
    "It is 200 m tall [1].",
    "contradicted",
    confidence=0.913,
    reason="the source says 139 m, the claim 200 m",
    span=Span(source_id="policy.md", start=4, end=27, text="The tower is 139 m tall"),
    conflicts=(Span(source_id="old.md", start=0, end=5, text="200 m"),),
)
DOGS = judged("Dogs may come in.", unscored="timeout")
RESULT = make_result(TALL, DOGS)


def show(result: CheckResult, *, width: int = 100, **options: Any) -> str:
    file = io.StringIO()
    print_checked(result, Console(file=file, width=width, highlight=False, **options))
    return file.getvalue()


def test_meaning_survives_without_colours() -> None:
    assert show(RESULT) == (
        "⟦1✗ It is 200 m tall [1].⟧\n"
        "- ⟦2? Dogs may come in.⟧\n"
        "Ask me more!\n"
        "\n"
        "  1 ✗ contradicted (confidence 91.3%)  It is 200 m tall [1].\n"
        "      the source says 139 m, the claim 200 m\n"
        "      policy.md:4–27 “The tower is 139 m tall”\n"
        "      but old.md:0–5 “200 m”\n"
        "  2 ? not scored (timeout)  Dogs may come in.\n"
        "\n"
        "0 of 1 claim supported (0%) · 1 contradicted · 1 claim not scored (0–50% whatever it is) "
        "· judged by verifier:x-1, not yet checked against people\n"
    )


def test_colours_on_a_terminal() -> None:
    shown = show(RESULT, force_terminal=True, color_system="standard", _environ={})
    assert "\x1b[31mIt is 200 m tall [1].\x1b[0m" in shown
    assert "⟦" not in shown
    assert "(1)" in shown


def test_no_color_is_respected() -> None:
    shown = show(RESULT, force_terminal=True, color_system="standard", _environ={"NO_COLOR": "1"})
    assert "\x1b[31m" not in shown
    assert "⟦1✗ It is 200 m tall [1].⟧" in shown


@pytest.mark.parametrize("options", [{}, {"force_terminal": True, "color_system": "standard"}])
def test_hostile_text_stays_text(options: dict[str, Any]) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2J[red]x[/red] \u202eabc\u202c ⟦9✓ fake⟧ \x9b31m :smile: \r."
    source_id = "[blink]a\x1b[5m\n.md"
    span = Span(source_id=source_id, start=0, end=3, text="\x1b[8m\x00\x07[/]")
    claim = judged(
        hostile, "supported", answer=hostile, span=span, reason="\x1b[1mbold[/bold]",
        exceeds="\x1b[1A", confidence=1.0,
    )  # fmt: skip
    shown = show(make_result(claim, answer=hostile), _environ={}, **options)
    ours = shown.replace("\x1b[", "") if options else shown
    for bad in ("\x1b]", "\x07", "\x9b", "\u202e", "\x00", "\r", "\x1b[2J", "\x1b[8m", "\x1b[1A"):
        assert bad not in shown
    assert "\x1b" not in ours
    assert "[red]x[/red]" in shown
    assert ":smile:" in shown
    assert "⟦9" not in shown
    assert "\\u27e69✓ fake" in shown


def test_long_spans_lose_their_middle() -> None:
    span = Span(source_id="s", start=0, end=9_999, text="begin " + "x " * 5_000 + "end")
    shown = show(make_result(judged("Dogs may come in.", "supported", span=span)))
    assert "“begin x x" in shown
    assert "[…]" in shown
    assert "x end”" in shown
    assert len(shown) < 1_500


def test_narrow_terminals() -> None:
    shown = show(RESULT, width=30)
    assert all(len(line) <= 30 for line in shown.splitlines()[:-1])
    assert "contradicted" in shown


def test_claims_that_share_words_are_shown_once() -> None:
    answer = "Ann and Bob left."
    first, second = (
        judged("Ann and Bob left.", "supported", answer=answer),
        judged("Bob left.", "unlinked", answer=answer),
    )
    shown = show(make_result(first, second, answer=answer))
    assert shown.startswith("⟦1✓ Ann and Bob left.⟧⟦2○ ⟧\n")


def test_summary_of_nothing() -> None:
    nothing = make_result(answer="")
    by = "judged by verifier:x-1, not yet checked against people"
    assert describe_result(nothing) == f"no checkable claims: no rate · {by}"
    assert describe_result(make_result(DOGS)) == f"1 claim not scored: no rate · {by}"
    assert show(nothing) == f"no checkable claims: no rate · {by}\n"
    known = make_result(agreement="kappa 0.6 with people")
    assert describe_result(known).endswith("judged by verifier:x-1, kappa 0.6 with people")


def test_json_has_every_field() -> None:
    claim = AnswerClaim(
        text="It is 200 m tall [1].", start=0, end=21, wording="It is 200 m tall.", ambiguous=True,
        antecedent="the tower", compound=("and",),
        marks=(Mark(text="[1]", start=17, end=20, target="1"),),
    )  # fmt: skip
    scores = Scores(supports=0.1, contradicts=0.8, neither=0.1)
    verdict = ClaimVerdict(
        claim=claim, verdict="contradicted", confidence=0.8, scores=scores, span=TALL.span,
        reason="139 m", instrument="x",
    )  # fmt: skip
    result = make_result(verdict, warnings=("careful",))
    source = Source(
        source_id="policy.md",
        corpus_ver="check",
        source_text="x" * 30,
        valid_until=date(2026, 1, 31),
    )
    document = to_checked_document(
        result, [source], question="How tall?", gate=check_rate(result, 0.5)
    )
    assert json.loads(json.dumps(document)) == {
        "format": 1,
        "answer": ANSWER,
        "question": "How tall?",
        "verifier": "verifier:x-1",
        "agreement": None,
        "calibration": None,
        "rate": 0.0,
        "judged": 1,
        "unscored": 0,
        "bounds": [0.0, 0.0],
        "counts": {"supported": 0, "unlinked": 0, "overreach": 0, "contradicted": 1, "stale": 0},
        "claims": [
            {
                "text": "It is 200 m tall [1].",
                "start": 0,
                "end": 21,
                "wording": "It is 200 m tall.",
                "claim_type": "factual",
                "not_a_claim": None,
                "antecedent": "the tower",
                "ambiguous": True,
                "compound": ["and"],
                "marks": [{"text": "[1]", "start": 17, "end": 20, "target": "1"}],
                "ancestors": [],
                "verdict": "contradicted",
                "confidence": 0.8,
                "calibrated": None,
                "scores": {"supports": 0.1, "contradicts": 0.8, "neither": 0.1},
                "span": {
                    "source_id": "policy.md",
                    "start": 4,
                    "end": 27,
                    "text": "The tower is 139 m tall",
                },
                "reason": "139 m",
                "exceeds": None,
                "conflicts": [],
                "instrument": "x",
                "unscored": None,
            }
        ],
        "sources": [{"source_id": "policy.md", "valid_until": "2026-01-31", "characters": 30}],
        "warnings": ["careful"],
        "gate": {"fail_under": 0.5, "passed": False},
    }


@pytest.mark.parametrize(
    ("supported", "other", "unscored", "limit", "passed"),
    [
        (1, 1, 0, 0.5, True),
        (1, 1, 0, 0.51, False),
        (0, 0, 0, 0.5, None),
        (0, 0, 3, 0.0, None),
        (3, 0, 1, 0.75, True),  # even if the open one is unsupported
        (3, 0, 1, 0.8, None),
        (1, 2, 1, 0.6, False),  # even if the open one is supported
        (0, 1, 0, 0.0, True),
    ],
)
def test_gate_counts_unscored_claims_both_ways(
    supported: int, other: int, unscored: int, limit: float, passed: bool | None
) -> None:
    claims = [judged("Dogs may come in.", "supported")] * supported
    claims += [judged("Dogs may come in.", "unlinked")] * other + [DOGS] * unscored
    assert check_rate(make_result(*claims), limit).passed is passed


@pytest.mark.parametrize("unit", ["x", "xy ", "漢", "Dogs may come in. "])
@pytest.mark.parametrize("colour", [None, "truecolor"])
def test_a_long_text_is_set_in_one_pass(copied: list[int], unit: str, colour: str | None) -> None:
    answer = unit * (20_000 // len(unit))
    claim = judged(answer, "supported", answer=answer, reason=f"because {answer}")
    shown = show(make_result(claim, answer=answer), color_system=colour, force_terminal=True)
    assert len(shown) > 3 * len(answer)
    assert len(answer) < sum(copied) < 20 * len(answer)
