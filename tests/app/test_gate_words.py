"""Pages write a gate's fractions in percent, and leave names and versions alone."""

from __future__ import annotations

from typing import Any

import pytest

from claimwise.app.gate_words import give_reason, name_gate
from claimwise.gates.values import Gate, GateDecision, SliceDecision


def decide(reason: str, rule: str = "at least 0.9", **gate: Any) -> tuple[str, str]:
    found = SliceDecision(
        slice={}, outcome="fail", reason=reason, rate=0.5, low=0.4, high=0.6, items=9, units=9,
        unscored=0,
    )  # fmt: skip
    decision = GateDecision(
        gate=Gate(metric="faithfulness", name="v0.5", **(gate or {"min": 0.9})),
        title="Faithfulness", unit="claim", better="higher", rule=rule, run_id="r",
        baseline_id=None, outcome="fail", pass_confidence=0.95, fail_confidence=0.95,
        slices=(found,),
    )  # fmt: skip
    return name_gate(decision), give_reason(decision, found)


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("at most 0.663 (limit 0.7) (corrected)", "at most 66% (limit 70%) (corrected)"),
        ("at least 0.042 (limit 0.025).", "at least 4.2% (limit 2.5%)."),
        ("0.316 to 0.993 doesn't settle it (limit 1)", "32% to 99.3% doesn't settle it (limit 1)"),
        ("judge:openai:m-0.7 agrees on 0.81", "judge:openai:m-0.7 agrees on 81%"),
        ("catches a rate 0.8 points beyond", "catches a rate 0.8 points beyond"),
    ],
)
def test_shares_are_percent(reason: str, told: str) -> None:
    assert decide(reason) == ("v0.5: Faithfulness at least 90%", told)


def test_changes_are_points() -> None:
    rule, told = decide(
        "worse by at most 0.041; 0.05 is allowed", "not worse than previous, margin 0.05",
        baseline="previous", margin=0.05,
    )  # fmt: skip
    assert rule.startswith("v0.5: Faithfulness not worse than previous, margin 5 points")
    assert told == "worse by at most 4.1 points; 5 points is allowed"
