"""Asks a judge about labelled cases, and keeps count of what that took."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial

from claimwise.bench.measure import map_in_threads
from claimwise.checking.tasks import TaskOutcome, run_job
from claimwise.judge_comparison.values import Case, JudgeOpinion, JudgingCost
from claimwise.judges.judge import Verifier
from claimwise.llm.pricing import cost_tokens
from claimwise.types.llm import Asker, LlmCall, LlmFailure, LlmReply, Price
from claimwise.types.verdicts import ClaimVerdict

Opinions = dict[int, JudgeOpinion]
"""What a judge makes of labelled claims, by row."""

NO_VERDICT = "no_verdict"


class Meter:
    """An Asker that counts tokens and seconds of what passes through it."""

    def __init__(self, asker: Asker) -> None:
        self.model = asker.model
        self.calls = self.timed = self.input_tokens = self.output_tokens = 0
        self.seconds = 0.0
        self._asker = asker
        self._lock = threading.Lock()

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        """Return the reply; kept ones count by their tokens, and take no time."""
        reply = self._asker.ask(call)
        with self._lock:
            self.calls += 1
            self.input_tokens += reply.usage.input_tokens or 0
            self.output_tokens += reply.usage.output_tokens or 0
            if isinstance(reply, LlmReply) and not reply.cached:
                self.timed += 1
                self.seconds += reply.seconds
        return reply

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        """Forget a kept reply."""
        self._asker.reject(call, reply)

    def sum_up(self, claims: int, price: Price | None) -> JudgingCost:
        """Return what judging so many claims took."""
        cost = None
        if price is not None:
            cost = cost_tokens(price, self.input_tokens, self.output_tokens) * 1000 / max(1, claims)
        # Kept replies took no time now: the mean of the others stands for them.
        each = self.seconds / self.timed * self.calls / max(1, claims) if self.timed else None
        return JudgingCost(
            seconds_per_claim=each,
            timed_calls=self.timed,
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            usd_per_1000_claims=cost,
        )


def judge_cases(
    verifier: Verifier,
    cases: Sequence[Case],
    threads: int = 1,
    count: Callable[[int, int], None] | None = None,
) -> Opinions:
    """Return what a judge makes of every labelled claim of some cases.

    Args:
        verifier: the judge.
        cases: what it is asked about.
        threads: cases at once.
        count: told after each case how many labelled claims it has, and how many are unscored.
    """
    ask = partial(_ask, verifier)
    found: Opinions = {}
    outcomes = map_in_threads(ask, cases, threads) if threads > 1 else map(ask, cases)
    for case, outcome in zip(cases, outcomes, strict=True):
        pairs = zip(case.rows, outcome.verdicts, strict=True)
        new = {row: _read(verdict) for row, verdict in pairs if row is not None}
        found |= new
        if count is not None:
            count(len(new), sum(opinion.verdict is None for opinion in new.values()))
    return found


def _ask(verifier: Verifier, case: Case) -> TaskOutcome:
    return run_job(case.job, verifier)


def _read(judged: ClaimVerdict) -> JudgeOpinion:
    if judged.verdict is None:
        return JudgeOpinion(None, None, judged.unscored or NO_VERDICT)
    score = None if judged.scores is None else judged.scores.supports
    return JudgeOpinion(judged.verdict, score, None)
