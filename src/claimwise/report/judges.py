"""What stands beside every automated figure: the judge, and how far it agrees with people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claimwise.report.format import UNCHECKED, clean, join_words, pluralize, show_rate
from claimwise.types.results import JudgeNote


def describe_judge(judge: JudgeNote, figures: Sequence[str] = ()) -> str:
    """Say what a judge is, which figures rest on it, and how far it agrees with people."""
    made = f", for {join_words(figures)}" if figures else ""
    return f"{name_judge_note(judge)}{made}: {describe_agreement(judge)}"


def name_judge_note(judge: JudgeNote) -> str:
    """Name a judge with its model and its prompt."""
    made = [clean(judge.model) if judge.model else None]
    made.append(f"prompt {clean(judge.prompt_ver)}" if judge.prompt_ver else None)
    known = ", ".join(part for part in made if part)
    return f"{clean(judge.labeler)} ({known})" if known else clean(judge.labeler)


def describe_agreement(judge: JudgeNote) -> str:
    """Say how far a judge agrees with people, or that nobody has checked."""
    row = judge.agreement
    if row is None or row.micro is None:
        return UNCHECKED
    share = show_rate(row.micro, row.low, row.high)
    return f"agrees with people on {share} of {pluralize(row.claims, 'claim')}"


def judge_to_document(judge: JudgeNote) -> dict[str, Any]:
    """Return a judge as plain values for JSON; ``agreement`` is null where nobody knows it."""
    row = judge.agreement
    return {
        "labeler": judge.labeler,
        "model": judge.model,
        "prompt_ver": judge.prompt_ver,
        "claims": judge.claims,
        "agreement": None
        if row is None
        else {"rate": row.micro, "low": row.low, "high": row.high, "claims": row.claims},
        "agreement_text": describe_agreement(judge),
    }
