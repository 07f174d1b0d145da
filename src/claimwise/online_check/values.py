"""What ``POST /v1/check`` takes and returns."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from claimwise.types.rows import ClaimType, Verdict

MOST_ANSWERS = 64
MOST_SOURCES = 200
MOST_SOURCE_CHARACTERS = 2_000_000
LONGEST_DEADLINE = 60_000

# Codes of claims that have no verdict because of the deadline, or of the judge itself.
DEADLINE = "deadline"
JUDGE_FAILED = "judge_failed"


_Name = Annotated[str, Meta(max_length=200)]
_Title = Annotated[str, Meta(max_length=500)]
_Text = Annotated[str, Meta(max_length=100_000)]
_Log = Annotated[tuple[_Text, ...], Meta(max_length=1_000)]
_Milliseconds = Annotated[int, Meta(ge=1, le=LONGEST_DEADLINE)]


class CheckSource(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the answer may rest on."""

    text: Annotated[str, Meta(max_length=1_000_000, description="the text")]
    id: Annotated[_Name | None, Meta(description="your name for it (default: source-N)")] = None
    title: Annotated[_Title | None, Meta(description="shown to people")] = None


class AnswerToCheck(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer and what it may rest on."""

    answer: Annotated[_Text, Meta(description="the answer, before it is shown")]
    sources: Annotated[
        tuple[CheckSource | str, ...],
        Meta(max_length=MOST_SOURCES, description="texts, or objects with id, text and title"),
    ]
    question: Annotated[_Text | None, Meta(description="what was asked; resolves references")] = (
        None
    )
    actions: Annotated[
        _Log | None, Meta(description="log of what the system did; null: nobody kept one")
    ] = None
    id: Annotated[_Name | None, Meta(description="returned with the result")] = None


class CheckCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A request: answers, and by when to answer."""

    answers: Annotated[
        tuple[AnswerToCheck, ...],
        Meta(min_length=1, max_length=MOST_ANSWERS, description="the answers, in any number"),
    ]
    deadline_ms: Annotated[
        _Milliseconds | None, Meta(description="milliseconds from receipt to response")
    ] = None


class CheckedClaim(msgspec.Struct, frozen=True):
    """One claim of an answer, with its verdict or the reason why it has none."""

    text: Annotated[str, Meta(description="the claim, worded as in the answer")]
    start: Annotated[int, Meta(description="offset of its first character in the answer")]
    end: Annotated[int, Meta(description="offset after its last character")]
    type: Annotated[ClaimType, Meta(description="non_factual: there is nothing to judge")]
    verdict: Annotated[Verdict | None, Meta(description="null: unscored, or nothing to judge")] = (
        None
    )
    confidence: Annotated[
        float | None, Meta(description="the judge's probability that the verdict is right")
    ] = None
    reason: Annotated[str | None, Meta(description="why, in words")] = None
    source_id: Annotated[str | None, Meta(description="the source that the verdict rests on")] = (
        None
    )
    span: Annotated[str | None, Meta(description="the words of the source")] = None
    span_start: Annotated[int | None, Meta(description="their offset in the source")] = None
    unscored: Annotated[
        str | None, Meta(description=f"code: {DEADLINE}, {JUDGE_FAILED}, or the judge's own")
    ] = None


class CheckedAnswer(msgspec.Struct, frozen=True):
    """What was found of one answer."""

    id: Annotated[str | None, Meta(description="as in the request")]
    complete: Annotated[bool, Meta(description="whether every claim has a verdict")]
    claims: tuple[CheckedClaim, ...]
    supported: Annotated[int, Meta(description="claims that a source supports")]
    scored: Annotated[int, Meta(description="claims with a verdict")]
    unscored: Annotated[int, Meta(description="claims without one that should have one")]
    # Where not even the claims are known: the deadline came before the answer was split.
    failure: Annotated[str | None, Meta(description="why there are no claims at all")] = None
    warnings: tuple[str, ...] = ()


class CheckReply(msgspec.Struct, frozen=True):
    """The response: one result per answer, in the same order."""

    judge: Annotated[str, Meta(description="who judged: name and version")]
    results: tuple[CheckedAnswer, ...]


class ErrorReply(msgspec.Struct, frozen=True):
    """What is wrong, in one line."""

    error: str
