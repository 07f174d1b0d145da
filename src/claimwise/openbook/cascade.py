"""The cascade: a closed-book judge first, a corpus for what is suspicious, people for the rest.

A judge's own knowledge is cheap and wrong now and then, a corpus is right about what it holds,
and people are dear. A claim goes on when the stage before can't be trusted with it:

- to the corpus: everything that the judge does not call true or non-factual, and “true” claims
  with a number or a date, with two facts in one, or that read like opinions;
- to people: what the corpus does not settle either, and what the two stages disagree on.

A corpus that says nothing against a judge's “false” does not overturn it: the claim stays false,
by the judge. Were it left to people, only the true claims would remain in the rate. Every claim
ends in exactly one stage.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from claimwise.decompose import split_answer
from claimwise.fact_check.answer import cut_pieces, factcheck_answer
from claimwise.judges.closed_book import ClosedBookJudge
from claimwise.judges.corpus import Corpus
from claimwise.judges.judge import Verifier
from claimwise.openbook.answer import judge_by_corpus, plan_by_corpus
from claimwise.types.closed_book import SET_ASIDE, FactClaim, Frame
from claimwise.types.corpus import (
    CLOSED_BOOK,
    CORPUS,
    PEOPLE,
    CascadeClaim,
    CascadeResult,
    CorpusVerdict,
    Retrieval,
    Stage,
    StageReport,
)
from claimwise.types.llm import LlmCall, Tally
from claimwise.types.rows import FactLabel
from claimwise.types.verdicts import AnswerClaim

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge

# What the corpus makes of a claim, as a label; any other outcome leaves it open.
_MEANS: dict[str | None, FactLabel] = {"supported": "true", "contradicted": "false"}
# Flags of the first stage that make even a “true” suspicious.
_SUSPICIOUS = ("second_look", *SET_ASIDE)
_WHY = {
    "no_passage": "the corpus has no passage about it",
    "unlinked": "the corpus neither supports nor contradicts it",
    "overreach": "the corpus backs only a part of it",
    "stale": "only a document that is no longer valid says so",
}
_USUAL = Retrieval()
_NO_FRAME = Frame()

ReadTally = Callable[[], Tally]


class _Settled(NamedTuple):
    """Where a claim ended, with which label, and why."""

    stage: Stage
    label: FactLabel | None
    why: str


def cascade_answer(
    answer: str,
    judge: ClosedBookJudge,
    corpus: Corpus,
    verifier: Verifier,
    frame: Frame = _NO_FRAME,
    *,
    how: Retrieval = _USUAL,
    resplit: bool = True,
    agreement: str | None = None,
    tally: ReadTally = Tally,
) -> CascadeResult:
    """Send one answer through the stages.

    Args:
        answer: the answer.
        judge: the first stage.
        corpus: what suspicious claims are looked up in.
        verifier: what reads the passages: an offline verifier, or a grounded judge.
        frame: what the first stage is told beside the answer.
        how: how passages are looked for.
        resplit: whether compound claims are sent back to the judge once.
        agreement: how far the judge agrees with people, if anybody knows.
        tally: what the client has done so far; without it calls and cost of stages stay 0.
    """
    meter = _Meter(tally)
    first = factcheck_answer(answer, judge, frame, resplit=resplit)
    spent = meter.read(CLOSED_BOOK, first.judge, agreement)
    claims, warnings = settle_claims(
        (*first.claims, *first.skipped),
        corpus,
        verifier,
        answer=answer,
        question=frame.question,
        how=how,
    )
    looked_up = meter.read(CORPUS, verifier.labeler, getattr(verifier, "agreement", None))
    claims.sort(key=lambda claim: claim.start)
    return CascadeResult(
        answer=answer,
        claims=tuple(claims),
        stages=_report(claims, spent, looked_up),
        first=first,
        corpus=corpus.info,
        retrieval=how,
        warnings=tuple(dict.fromkeys([*first.warnings, *warnings])),
    )


def settle_claims(
    given: Sequence[FactClaim],
    corpus: Corpus,
    verifier: Verifier,
    *,
    answer: str = "",
    question: str | None = None,
    as_of: date | None = None,
    how: Retrieval = _USUAL,
) -> tuple[list[CascadeClaim], list[str]]:
    """Take claims as the first stage labelled them to where they end; in order, with warnings."""
    started = [_start(claim) for claim in given]
    verdicts, warnings = judge_by_corpus(
        [_to_answer_claim(claim) for claim in started if claim.doubts],
        corpus,
        verifier,
        answer=answer,
        question=question,
        as_of=as_of,
        how=how,
    )
    found = iter(verdicts)
    claims = [_end(claim, next(found)) if claim.doubts else _accept(claim) for claim in started]
    return claims, warnings


def plan_cascade(
    answer: str,
    judge: ClosedBookJudge,
    corpus: Corpus,
    reader: GroundedJudge | None,
    frame: Frame = _NO_FRAME,
    *,
    how: Retrieval = _USUAL,
) -> list[LlmCall]:
    """Return the calls of a cascade, the second stage as if every claim were suspicious.

    ``reader`` is the judge that reads passages; None where an offline verifier does.
    """
    pieces = cut_pieces(answer, frame.question)
    calls = [judge.make_call(pieces, frame)] if pieces else []
    if reader is not None:
        claims = split_answer(answer, question=frame.question)
        calls += plan_by_corpus(
            claims, corpus, reader, answer=answer, question=frame.question, how=how
        )
    return calls


def _start(claim: FactClaim) -> CascadeClaim:
    return CascadeClaim(
        text=claim.text,
        start=claim.start,
        end=claim.end,
        label=claim.said or claim.label,
        unscored=None if claim.said else claim.unscored,
        basis=claim.decision_basis,
        doubts=_doubt(claim),
        stage=PEOPLE,
    )


def _doubt(claim: FactClaim) -> tuple[str, ...]:
    """Return why a claim is not settled by the first stage; nothing when it is."""
    if claim.label == "non_factual":
        return ()
    given = claim.said or claim.label
    label = () if given == "true" else (given or claim.unscored or "unscored",)
    return (*label, *(flag for flag in _SUSPICIOUS if flag in claim.flags))


def _to_answer_claim(claim: CascadeClaim) -> AnswerClaim:
    return AnswerClaim(text=claim.text, start=claim.start, end=claim.end, wording=claim.text)


def _accept(claim: CascadeClaim) -> CascadeClaim:
    why = claim.basis or "the judge's own knowledge"
    return replace(claim, stage=CLOSED_BOOK, decided=claim.label, why=why)


def _end(claim: CascadeClaim, found: CorpusVerdict) -> CascadeClaim:
    stage, label, why = _decide(claim, found)
    return replace(claim, corpus=found, stage=stage, decided=label, why=why)


def _decide(claim: CascadeClaim, found: CorpusVerdict) -> _Settled:
    """Settle a suspicious claim by the corpus, or leave it to people.

    What the corpus says about a value judgement does not make it a fact, two documents that
    disagree settle nothing, and neither do two stages that do. What the corpus leaves open stays
    false where the judge says so.
    """
    judged = found.judged
    label = _MEANS.get(found.outcome)
    if judged.unscored is not None:
        return _Settled(PEOPLE, None, f"the corpus stage could not judge it: {judged.unscored}")
    if "opinion" in claim.doubts:
        return _Settled(PEOPLE, None, "it reads like a value judgement")
    if label is None:
        why = _WHY.get(found.outcome or "", "nothing settles it")
        said = "" if found.no_passage else f": {judged.reason}"
        if claim.label == "false":
            return _Settled(CLOSED_BOOK, "false", f"the judge says false, and {why}{said}")
        return _Settled(PEOPLE, None, f"{why}{said}")
    if judged.conflicts:
        return _Settled(PEOPLE, None, "documents of the corpus disagree")
    if claim.label in ("true", "false") and claim.label != label:
        return _Settled(
            PEOPLE, None, f"the judge says {claim.label}, the corpus says {label}: {judged.reason}"
        )
    return _Settled(CORPUS, label, judged.reason)


class _Spent(NamedTuple):
    """What a stage took."""

    stage: Stage
    instrument: str
    agreement: str | None
    used: Tally
    seconds: float


class _Meter:
    """Reads what the stages take, one after the other."""

    def __init__(self, tally: ReadTally) -> None:
        self._tally = tally
        self._last = tally()
        self._at = time.monotonic()

    def read(self, stage: Stage, instrument: str, agreement: str | None) -> _Spent:
        """Return what was used since the last reading."""
        before, now = self._last, self._tally()
        begin, end = self._at, time.monotonic()
        self._last, self._at = now, end
        calls = now.sent - before.sent
        # A stage that sends nothing costs nothing, whatever the price.
        cost = None if now.cost is None else now.cost - (before.cost or 0.0)
        used = Tally(
            sent=calls,
            cached=now.cached - before.cached,
            input_tokens=now.input_tokens - before.input_tokens,
            output_tokens=now.output_tokens - before.output_tokens,
            cost=cost if calls else 0.0,
        )
        return _Spent(stage, instrument, agreement, used, end - begin)


def _report(
    claims: Sequence[CascadeClaim], first: _Spent, second: _Spent
) -> tuple[StageReport, ...]:
    ended = [claim.stage for claim in claims]
    left, reports = len(claims), []
    for spent in (first, second, _Spent(PEOPLE, "people", None, Tally(cost=0.0), 0.0)):
        # People have not decided yet: what they get is waiting.
        decided = 0 if spent.stage == PEOPLE else ended.count(spent.stage)
        reports.append(
            StageReport(
                stage=spent.stage,
                instrument=spent.instrument,
                agreement=spent.agreement,
                claims=left,
                decided=decided,
                passed_on=left - decided,
                calls=spent.used.sent,
                cached=spent.used.cached,
                input_tokens=spent.used.input_tokens,
                output_tokens=spent.used.output_tokens,
                cost=spent.used.cost,
                seconds=spent.seconds,
            )
        )
        left -= decided
    return tuple(reports)
