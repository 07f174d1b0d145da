"""Judges a stored run with a language model: what it would send, and rounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from claimwise.pipeline.check import judge_claims, judge_pieces
from claimwise.pipeline.tasks import TaskReader, bind_job
from claimwise.pipeline.verify import (
    VerifyResult,
    Watch,
    cut_units,
    open_judging,
    verify_run,
)
from claimwise.store import Store
from claimwise.store.judging import count_flips
from claimwise.types.checking import AnswerClaim, CheckRequest, ClaimVerdict, Scores
from claimwise.types.llm import LlmCall
from claimwise.verify.grounded import GroundedJudge


@dataclass(frozen=True, kw_only=True, slots=True)
class Flips:
    """How steady a judge is: claims that several rounds scored, and those they disagree on."""

    rounds: int
    compared: int
    flipped: int


def verify_rounds(
    store: Store,
    run_id: str,
    judge: GroundedJudge,
    *,
    repeats: int = 1,
    threads: int = 1,
    again: bool = False,
    watch: Watch | None = None,
) -> tuple[VerifyResult, Flips | None]:
    """Judge a run, in several rounds if asked to; each can be resumed by itself.

    Every round is a labeler of its own (``judge:…#2``), so its labels stay apart. Of all labels
    of a claim one decides: rates count it once, whatever the number of rounds. The first round
    comes last, so that it is the one, being the latest. Claims are those of whichever round
    splits an answer first.

    Returns:
        The first round's result, and how often rounds disagree.
    """
    for number in range(repeats, 1, -1):
        other = judge.repeat_as(number)
        verify_run(store, run_id, other, threads=threads, again=again, watch=watch)
    result = verify_run(store, run_id, judge, threads=threads, again=again, watch=watch)
    if repeats == 1:
        return result, None
    compared, flipped = count_flips(store, run_id, judge.labeler)
    return result, Flips(rounds=repeats, compared=compared, flipped=flipped)


def plan_run(
    store: Store, run_id: str, judge: GroundedJudge, *, again: bool = False
) -> Iterator[LlmCall]:
    """Yield the calls that judging the rest of a run would make in one round.

    Raises:
        StoreError: there is no such run, or it has no answers.
    """
    judging, states = open_judging(store, run_id, judge, again=again)
    reader = TaskReader(store, judging)
    for keys in cut_units(states):
        for task in reader.read(keys):
            known = task.job.claims is not None
            yield from plan_answer(bind_job(task.job), task.job.request, judge, known=known)


def plan_answer(
    claims: Sequence[AnswerClaim], request: CheckRequest, judge: GroundedJudge, *, known: bool
) -> list[LlmCall]:
    """Return the calls that judging one answer would make; none where there is no evidence."""
    planner = _Planner(judge)
    ask = judge_claims if known else judge_pieces
    ask(claims, request, planner)
    return planner.calls


class _Planner:
    """Stands in for a judge, and notes the calls that it would make."""

    name = labeler = "plan"
    threshold = 0.5

    def __init__(self, judge: GroundedJudge) -> None:
        self.calls: list[LlmCall] = []
        self.splits = judge.splits
        self._judge = judge

    def score_claims(self, claims: Sequence[str], document: str) -> list[Scores | None]:
        """Note the calls about one document."""
        self.calls += self._judge.plan_scores(claims, document)
        return [None] * len(claims)

    def judge_answer(
        self, claims: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Note the calls about known claims."""
        self.calls += self._judge.plan_calls(claims, request)
        return [ClaimVerdict(claim=claim) for claim in claims], []

    def judge_pieces(
        self, pieces: Sequence[AnswerClaim], request: CheckRequest
    ) -> tuple[list[ClaimVerdict], list[str]]:
        """Note the calls about pieces."""
        self.calls += self._judge.plan_split(pieces, request)
        return [], []
