"""A small real verifier whose verdicts a reader can predict, and what processes do with it."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from hashlib import pbkdf2_hmac

import claimwise.checking.engine as run_engine
import claimwise.checking.run as verifying
import claimwise.store.load as loading
from claimwise.store import open_store
from claimwise.types.rows import Label, Source, Verdict
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores, Span

_NUMBER = re.compile(r"\d+")


@dataclass
class ExactVerifier:
    """Supports what stands in a source letter by letter; contradicts what differs in a number.

    Nothing in a text can change its mind. "unjudgeable" in a claim stands for a failure.
    """

    name: str = "exact"
    labeler: str = "verifier:exact-1"
    threshold: float = 0.5
    version: str = "1"
    agreement: str | None = None
    effort: int = 0  # rounds of hashing for every answer, as a model that takes its time
    drops: int = 0  # verdicts that get lost

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        found = [float(_core(claim) in document) for claim in claims]
        return [Scores(supports=f, contradicts=0, neither=1 - f) for f in found]

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        if self.effort:
            pbkdf2_hmac("sha256", b"claims", b"sources", self.effort)
        verdicts = [self._judge(claim, request) for claim in claims]
        return verdicts[self.drops :], []

    def _judge(self, claim: AnswerClaim, request: CheckRequest) -> ClaimVerdict:
        if "unjudgeable" in claim.wording:
            return ClaimVerdict(claim=claim, unscored="timeout", reason="no reply")
        if claim.claim_type == "action":
            return self._judge_action(claim, request)
        for source in request.sources:
            span = _find(_core(claim.wording), source)
            if span is not None:
                old = _is_old(source, request.as_of)
                return self._say(claim, "stale" if old else "supported", span, "it stands there")
        for source in request.sources:
            span = _find_pattern(_core(claim.wording), source)
            if span is not None:
                return self._say(claim, "contradicted", span, f"the source says “{span.text}”")
        return self._say(claim, "unlinked", None, "no source says it")

    def _judge_action(self, claim: AnswerClaim, request: CheckRequest) -> ClaimVerdict:
        for entry in request.actions or ():
            if entry.entry_text in claim.wording:
                text = entry.entry_text
                span = Span(source_id=entry.entry_id, start=0, end=len(text), text=text)
                return self._say(claim, "supported", span, "the log has it")
        return self._say(claim, "unlinked", None, "the log has no such entry")

    def _say(
        self, claim: AnswerClaim, verdict: Verdict, span: Span | None, reason: str
    ) -> ClaimVerdict:
        return ClaimVerdict(
            claim=claim,
            verdict=verdict,
            confidence=0.9,
            scores=Scores(supports=0.9, contradicts=0.05, neither=0.05),
            span=span,
            reason=reason,
            instrument="exact",
        )


def _core(claim: str) -> str:
    return claim.strip().rstrip(".!").strip()


def _find(text: str, source: Source) -> Span | None:
    start = source.source_text.find(text)
    if start < 0:
        return None
    return Span(source_id=source.source_id, start=start, end=start + len(text), text=text)


def _find_pattern(text: str, source: Source) -> Span | None:
    if not _NUMBER.search(text):
        return None
    match = re.search(_NUMBER.sub(r"\\d+", re.escape(text)), source.source_text)
    return match and Span(
        source_id=source.source_id, start=match.start(), end=match.end(), text=match.group()
    )


def _is_old(source: Source, as_of: date | None) -> bool:
    day = as_of or date.today()  # noqa: DTZ011
    expired = source.valid_until is not None and source.valid_until < day
    return expired or source.superseded_by is not None


def verify_slowly(place: str, run_id: str, effort: int) -> None:
    """Judge a run in a process of its own with some effort, and write after every answer."""
    run_engine._FLUSH_SECONDS = 0
    with open_store(place) as store:
        verifying.verify_run(store, run_id, ExactVerifier(effort=effort))


def die_after(place: str, run_id: str, answers: int) -> None:
    """Judge a run, write after every answer, and die by SIGKILL while judging the next."""
    run_engine._FLUSH_SECONDS = 0
    verifier = ExactVerifier()
    judge, count = verifier.judge_answer, 0

    def judge_some(claims, request):  # type: ignore[no-untyped-def]
        nonlocal count
        count += 1
        if count > answers:
            os.kill(os.getpid(), signal.SIGKILL)
        return judge(claims, request)

    verifier.judge_answer = judge_some  # type: ignore[method-assign]
    with open_store(place) as store:
        verifying.verify_run(store, run_id, verifier)


def die_while_writing(place: str, run_id: str, answers: int) -> None:
    """The same, inside the transaction: the next answer's claims are written, its labels not."""
    run_engine._FLUSH_SECONDS = 0
    merge, count = loading._merge, 0

    def merge_some(engine, stage, paths, **options):  # type: ignore[no-untyped-def]
        nonlocal count
        count += stage.row_type is Label
        if count > answers:
            os.kill(os.getpid(), signal.SIGKILL)
        return merge(engine, stage, paths, **options)

    loading._merge = merge_some
    with open_store(place) as store:
        verifying.verify_run(store, run_id, ExactVerifier())
