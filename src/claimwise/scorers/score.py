"""Scores one answer for another tool: the share of supported claims, and why, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from threading import Lock
from typing import Any

from msgspec import Struct

from claimwise.checking.check import check
from claimwise.judges.judge import Verifier, load_verifier, read_judge_name
from claimwise.report.findings import Finding, describe_findings
from claimwise.report.format import UNCHECKED
from claimwise.types.verdicts import CheckResult, ClaimVerdict

NAME = "claimwise_faithfulness"
NO_CONTEXTS, NO_ANSWER, NO_CLAIMS = "no_contexts", "no_answer", "no_claims"
# The keys under which evaluation rows hold what was retrieved, in any tool.
CONTEXT_KEYS = ("retrieved_contexts", "contexts", "context", "retrieval_context", "documents")
QUESTION_KEYS = ("question", "query", "input", "user_input", "prompt")

# Tools score from many threads; the offline judges are loaded once and asked one at a time.
_TURN = Lock()


class AnswerScore(Struct, frozen=True, kw_only=True):
    """An answer's share of supported claims; None where nothing was judged, ``unscored`` says why.

    ``reason`` names every claim that is not supported, and ends with the judge.
    """

    value: float | None
    reason: str
    judge: str
    unscored: str | None = None
    metadata: dict[str, Any] = {}


def score_answer(
    answer: str | None,
    contexts: Sequence[str] | None,
    *,
    question: str | None = None,
    verifier: str | Verifier = "auto",
    judge: str | None = None,
) -> AnswerScore:
    """Check an answer against its contexts, offline unless a ``judge`` is named.

    Without contexts nothing is judged: an answer that rests on nothing known is not wrong.

    Args:
        answer: what the system said; None when it failed.
        contexts: what it was given; None when nobody recorded it.
        question: what was asked.
        verifier: the offline judge, or its name, as for ``claimwise.check``.
        judge: a language model, as ``provider:model``, or a judge by name, as ``nli:folder``.

    Raises:
        LlmError: the judge's provider is unknown, or its key is missing.
    """
    name = judge or (verifier if isinstance(verifier, str) else verifier.labeler)
    if not answer:
        return _leave_out(NO_ANSWER, "There is no answer to check.", name)
    if not contexts or not any(text.strip() for text in contexts):
        return _leave_out(NO_CONTEXTS, "There is no context to check the answer against.", name)
    offline = None if judge is None else read_judge_name(judge).offline
    if judge is not None and offline is None:
        return _sum_up(check(answer, list(contexts), question=question, judge=judge))
    verifier = offline or verifier
    with _TURN:
        loaded = _load(verifier) if isinstance(verifier, str) else verifier
        return _sum_up(check(answer, list(contexts), question=question, verifier=loaded))


@cache
def _load(name: str) -> Verifier:
    return load_verifier(name)


def _leave_out(code: str, reason: str, judge: str) -> AnswerScore:
    return AnswerScore(value=None, reason=reason, judge=judge, unscored=code)


def _sum_up(result: CheckResult) -> AnswerScore:
    asked = [one for one in result.claims if one.verdict is not None or one.unscored is not None]
    agreement = result.agreement or UNCHECKED
    told = describe_findings(
        Finding(text=one.claim.wording, verdict=one.verdict, reason=one.reason,
                unscored=one.unscored)
        for one in asked
    )  # fmt: skip
    code = None
    if result.rate is None:
        code = next((one.unscored for one in asked if one.unscored), NO_CLAIMS)
    return AnswerScore(
        value=result.rate,
        reason=f"{told}\nJudged by {result.verifier}, {agreement}.",
        judge=result.verifier,
        unscored=code,
        metadata={
            "judge": result.verifier,
            "judge_agreement": agreement,
            "supported_claims": result.supported,
            "judged_claims": result.judged,
            "unscored_claims": result.unscored,
            "claims": [_describe_claim(one) for one in asked],
            "warnings": list(result.warnings),
        },
    )


def _describe_claim(one: ClaimVerdict) -> dict[str, Any]:
    found = {
        "claim": one.claim.wording,
        "answer_start": one.claim.start,
        "answer_end": one.claim.end,
        "verdict": one.verdict,
        "unscored": one.unscored,
        "reason": one.reason or None,
        "evidence": one.span.text if one.span else None,
        "source_id": one.span.source_id if one.span else None,
        "confidence": one.confidence,
    }
    return {name: value for name, value in found.items() if value is not None}


def find_contexts(fields: object, keys: Sequence[str] = CONTEXT_KEYS) -> list[str] | None:
    """Return the texts under the first key that is there; None where there is none.

    A context is a text, or an object with its text under ``page_content``, ``content`` or ``text``.
    """
    found = find_value(fields, keys)
    if found is None:
        return None
    parts = [found] if isinstance(found, str | Mapping) else found
    if not isinstance(parts, Sequence):
        return None
    texts = (read_part_text(part) for part in parts)
    return [text for text in texts if text is not None]


def find_value(fields: object, keys: Sequence[str]) -> Any:
    """Return what an object has under the first key that is there, or None."""
    if not isinstance(fields, Mapping):
        return None
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def read_part_text(part: object) -> str | None:
    """Return a context's or message's text, or None."""
    if isinstance(part, str):
        return part
    found = find_value(part, ("page_content", "content", "text"))
    return found if isinstance(found, str) else None
