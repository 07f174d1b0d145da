"""Judges answers by a deadline.

A few threads judge, claim by claim; beyond a number of waiting answers, new ones are turned away.
When its deadline comes, an answer is returned as it stands: the claims that have no verdict yet are
unscored, and whoever works on it stops after the claim at hand.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from claimwise.checking.check import judge_claims, split_request
from claimwise.judges.judge import Verifier
from claimwise.online_check.values import (
    DEADLINE,
    JUDGE_FAILED,
    MOST_SOURCE_CHARACTERS,
    AnswerToCheck,
    CheckedAnswer,
    CheckedClaim,
    CheckSource,
)
from claimwise.types.rows import ActionEntry, Source
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict

_CORPUS = "check"
_log = logging.getLogger("claimwise")


class OverloadedError(Exception):
    """More answers wait than can be judged in time."""


class BadAnswerError(Exception):
    """An answer that can't be checked; the message says why."""


class CheckJob:
    """One answer on its way: its claims, and the verdicts so far."""

    def __init__(self, given: AnswerToCheck) -> None:
        self.given = given
        self.request = make_request(given)
        self.claims: Sequence[AnswerClaim] | None = None
        self.verdicts: list[ClaimVerdict] = []
        self.warnings: dict[str, None] = {}
        self.stopped = False


def make_request(given: AnswerToCheck) -> CheckRequest:
    """Return an answer as a judge takes it.

    Raises:
        BadAnswerError: two sources have one id, or there is too much text.
    """
    sources: dict[str, Source] = {}
    for number, one in enumerate(given.sources, start=1):
        source = CheckSource(one) if isinstance(one, str) else one
        name = source.id or f"source-{number}"
        if name in sources:
            raise BadAnswerError(f"Two sources have the id “{name}”. Give each its own.")
        sources[name] = Source(
            source_id=name, corpus_ver=_CORPUS, source_text=source.text, title=source.title
        )
    if sum(len(source.source_text) for source in sources.values()) > MOST_SOURCE_CHARACTERS:
        raise BadAnswerError(
            f"The sources of an answer have more than {MOST_SOURCE_CHARACTERS:,} characters. Send "
            "the passages that it rests on."
        )
    actions = None
    if given.actions is not None:
        actions = tuple(
            ActionEntry(run_id=_CORPUS, item_id=_CORPUS, entry_id=f"call-{n}", entry_text=text)
            for n, text in enumerate(given.actions, start=1)
            if text.strip()
        )
    return CheckRequest(
        answer=given.answer,
        sources=tuple(sources.values()),
        question=given.question,
        actions=actions,
    )


class OnlineChecker:
    """Checks answers with one judge. Close it when done.

    Args:
        load: loads the judge, when it is first needed.
        workers: answers that are judged at once.
        waiting: answers that may wait.
    """

    def __init__(self, load: Callable[[], Verifier], *, workers: int, waiting: int) -> None:
        self._load = load
        self._judge: Verifier | None = None
        self._lock = threading.Lock()
        self._workers = ThreadPoolExecutor(workers, thread_name_prefix="claimwise-check")
        self._most = workers + waiting
        self._open = 0

    def close(self) -> None:
        """End after the claims at hand."""
        self._workers.shutdown(cancel_futures=True)

    @property
    def judge(self) -> Verifier:
        """The judge; the first who asks waits until it is loaded."""
        with self._lock:
            if self._judge is None:
                self._judge = self._load()
            return self._judge

    @property
    def labeler(self) -> str:
        """The judge's name and version; before it is loaded, its name is not known."""
        return "" if self._judge is None else self._judge.labeler

    async def warm_up(self) -> None:
        """Load the judge, so that no deadline is spent on it."""
        await asyncio.get_running_loop().run_in_executor(self._workers, lambda: self.judge)

    async def check(self, answers: Sequence[AnswerToCheck], deadline: float) -> list[CheckedAnswer]:
        """Return what is known of every answer when all are judged, or when the deadline comes.

        Args:
            answers: from one request; they are judged in order.
            deadline: seconds from now.

        Raises:
            OverloadedError: there is no room for all of them.
            BadAnswerError: one can't be checked.
        """
        ends = time.monotonic() + deadline
        jobs = [CheckJob(answer) for answer in answers]
        with self._lock:
            # A batch that is larger than the room for waiting goes through where nothing else is.
            if self._open and self._open + len(jobs) > self._most:
                raise OverloadedError("More answers are waiting than can be checked in time.")
            self._open += len(jobs)
        loop = asyncio.get_running_loop()
        work = [loop.run_in_executor(self._workers, self._run, job, ends) for job in jobs]
        try:
            await asyncio.wait(work, timeout=max(0.0, ends - time.monotonic()))
        finally:
            for job in jobs:
                job.stopped = True
        return [describe_job(job) for job in jobs]

    def _run(self, job: CheckJob, ends: float) -> None:
        """Judge an answer in a worker thread, claim by claim, until it is stopped."""
        try:
            if not self._is_over(job, ends):
                job.claims = split_request(job.request)
                self._judge_claims(job, ends)
        except Exception as error:  # noqa: BLE001 - a judge's fault is told as unscored claims
            _log.warning("warning: a check failed: %s: %s", type(error).__name__, error)
            job.warnings[f"the judge failed: {type(error).__name__}"] = None
            self._fail_rest(job)
        finally:
            with self._lock:
                self._open -= 1

    def _judge_claims(self, job: CheckJob, ends: float) -> None:
        for claim in job.claims or ():
            if self._is_over(job, ends):
                return
            found, warnings = judge_claims([claim], job.request, self.judge)
            # What was judged too late is not shown: a response has been given.
            if self._is_over(job, ends):
                return
            job.verdicts += found
            job.warnings.update(dict.fromkeys(warnings))

    @staticmethod
    def _is_over(job: CheckJob, ends: float) -> bool:
        return job.stopped or time.monotonic() >= ends

    @staticmethod
    def _fail_rest(job: CheckJob) -> None:
        for claim in (job.claims or ())[len(job.verdicts) :]:
            scored = claim.claim_type != "non_factual"
            job.verdicts.append(
                ClaimVerdict(claim=claim, unscored=JUDGE_FAILED if scored else None)
            )


def describe_job(job: CheckJob) -> CheckedAnswer:
    """Return what is known of an answer now; claims without a verdict are unscored."""
    claims = list(job.claims or ())
    verdicts = list(job.verdicts)
    late = [
        ClaimVerdict(claim=one, unscored=None if one.claim_type == "non_factual" else DEADLINE)
        for one in claims[len(verdicts) :]
    ]
    described = tuple(map(_describe_claim, [*verdicts, *late]))
    unscored = sum(one.unscored is not None for one in described)
    failure = DEADLINE if job.claims is None else None
    return CheckedAnswer(
        id=job.given.id,
        complete=failure is None and not unscored,
        claims=described,
        supported=sum(one.verdict == "supported" for one in described),
        scored=sum(one.verdict is not None for one in described),
        unscored=unscored,
        failure=failure,
        warnings=tuple(job.warnings),
    )


def _describe_claim(found: ClaimVerdict) -> CheckedClaim:
    span = found.span
    return CheckedClaim(
        text=found.claim.text,
        start=found.claim.start,
        end=found.claim.end,
        type=found.claim.claim_type,
        verdict=found.verdict,
        confidence=found.confidence,
        reason=found.reason or None,
        source_id=span.source_id if span else None,
        span=span.text if span else None,
        span_start=span.start if span else None,
        unscored=found.unscored,
    )
