"""Says what a language model that judges would be sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from claimwise.checking.check import judge_claims, judge_pieces
from claimwise.checking.tasks import AnswerJob, bind_job
from claimwise.types.llm import LlmCall
from claimwise.types.verdicts import AnswerClaim, CheckRequest, ClaimVerdict, Scores

if TYPE_CHECKING:
    from claimwise.judges.grounded import GroundedJudge


def plan_job(job: AnswerJob, judge: GroundedJudge) -> list[LlmCall]:
    """Return the calls that judging one stored answer would make."""
    return plan_answer(bind_job(job), job.request, judge, known=job.claims is not None)


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
