"""Lets a language model say claims in its own words, and keeps what still says the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import msgspec
from msgspec.structs import replace as change

from claimwise.judge_comparison.values import Case
from claimwise.judges.kept_facts import KeptFacts
from claimwise.llm.fencing import Fenced, fence_text
from claimwise.llm.parsing import ask_for
from claimwise.llm.prompts import load_prompt
from claimwise.text.words import has_words
from claimwise.types.llm import Asker, LlmCall, LlmFailure
from claimwise.types.verdicts import AnswerClaim

_FRAME_TOKENS, _CLAIM_TOKENS = 1024, 120


class _Restated(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    text: str


class _RestatedReply(msgspec.Struct, frozen=True, kw_only=True):
    claims: list[_Restated]


def make_restate_call(model: str, claims: Sequence[AnswerClaim]) -> LlmCall:
    """Return the call that asks a model for claims in its own words."""
    shown = (fence_text(claim.wording, f"c{n}") for n, claim in enumerate(claims, start=1))
    room = _FRAME_TOKENS + _CLAIM_TOKENS * len(claims)
    return load_prompt("restate").make_call(model, max_tokens=room, claims=Fenced("\n".join(shown)))


def restate_case(case: Case, asker: Asker) -> tuple[Case, int]:
    """Return a case with its claims in the model's words, and how many labelled ones have none.

    A text counts only if it has the claim's numbers, dates, names and negations, no others, and
    other words than the claim. A claim without one stays as it is and is not probed: its row is
    None.
    """
    claims = case.job.claims or ()
    reply = ask_for(asker, make_restate_call(asker.model, claims), _RestatedReply)
    texts: dict[str, str] = {}
    if not isinstance(reply, LlmFailure):
        texts = {one.id: " ".join(one.text.split()) for one in reply[0].claims}
    made, rows = [], []
    for number, (claim, row) in enumerate(zip(claims, case.rows, strict=True), start=1):
        text = texts.get(f"c{number}", "")
        kept = has_words(text) and text != claim.wording and says_the_same(claim.wording, text)
        made.append(change(claim, wording=text) if kept else claim)
        rows.append(row if kept else None)
    rejected = sum(row is not None for row in case.rows) - sum(row is not None for row in rows)
    return Case(replace(case.job, claims=tuple(made)), tuple(rows)), rejected


def says_the_same(claim: str, text: str) -> bool:
    """Tell whether two texts have the same numbers, dates, names and negations."""
    kept = KeptFacts()
    return kept.find_change(text, claim) is None and kept.find_change(claim, text) is None
