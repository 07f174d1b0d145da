"""What comparing several answers to one question returns."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from claimwise.types.accuracy import Accuracy
from claimwise.types.results import JudgeNote
from claimwise.types.rows import Judgement, Verdict
from claimwise.types.verdicts import AnswerClaim, Span

# Goes with every result, in every format.
CAUTION = "An inconsistent claim is suspicious, but a consistent one isn't therefore true."


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One of several answers; claims that are known already are not split again.

    ``claim_ids`` are the ids of known claims, in their order.
    """

    name: str
    text: str
    claims: tuple[AnswerClaim, ...] | None = None
    claim_ids: tuple[str, ...] = ()


class OtherAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What one other answer says of a claim: a verdict of `check`, or why there is none."""

    answer: str
    verdict: Verdict | None = None
    span: Span | None = None  # its ``source_id`` is the answer's name
    reason: str = ""
    unscored: str | None = None


class ComparedClaim(msgspec.Struct, frozen=True, kw_only=True):
    """A claim, and what every other answer says of it."""

    claim: AnswerClaim
    others: tuple[OtherAnswer, ...]
    claim_id: str | None = None  # of a stored claim

    @property
    def scored(self) -> int:
        """The number of other answers that it could be compared with."""
        return sum(other.verdict is not None for other in self.others)

    @property
    def agreement(self) -> float | None:
        """The share of those that support it; None when there is none."""
        return self._share("supported")

    @property
    def contradiction(self) -> float | None:
        """The share of those that contradict it; the rest is silent or says only a part."""
        return self._share("contradicted")

    @property
    def bounds(self) -> tuple[float, float] | None:
        """The agreement if no unscored comparison were support, and if all were."""
        if not self.others:
            return None
        held = self._count("supported")
        lost = len(self.others) - self.scored
        return held / len(self.others), (held + lost) / len(self.others)

    def _share(self, verdict: Verdict) -> float | None:
        return self._count(verdict) / self.scored if self.scored else None

    def _count(self, verdict: Verdict) -> int:
        return sum(other.verdict == verdict for other in self.others)


class ComparedAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One answer with its claims, in its order; what makes no claim is left out."""

    name: str
    text: str
    claims: tuple[ComparedClaim, ...]

    @property
    def agreement(self) -> float | None:
        """The mean of its claims' agreement; None when no claim has one."""
        return mean_known([claim.agreement for claim in self.claims])

    @property
    def contradiction(self) -> float | None:
        """The mean share of other answers that contradict its claims."""
        return mean_known([claim.contradiction for claim in self.claims])


class ConsistencyResult(msgspec.Struct, frozen=True, kw_only=True):
    """Several answers to one question, each claim compared with every other answer."""

    question: str | None
    answers: tuple[ComparedAnswer, ...]
    verifier: str
    warnings: tuple[str, ...] = ()
    caution: str = CAUTION
    judge: JudgeNote | None = None  # what compared them, with its agreement with people

    @property
    def claims(self) -> tuple[ComparedClaim, ...]:
        """The claims of all answers."""
        return tuple(claim for answer in self.answers for claim in answer.claims)

    @property
    def agreement(self) -> float | None:
        """The mean over all claims; None when nothing could be compared."""
        return mean_known([claim.agreement for claim in self.claims])

    @property
    def contradiction(self) -> float | None:
        """The mean share of other answers that contradict a claim."""
        return mean_known([claim.contradiction for claim in self.claims])

    @property
    def unscored(self) -> int:
        """The number of comparisons that failed."""
        return sum(len(claim.others) - claim.scored for claim in self.claims)


class ConsistencyAccuracy(msgspec.Struct, frozen=True, kw_only=True):
    """How well agreement tells the claims that people approve of from those that they don't.

    ``accuracy`` holds AUC and balanced accuracy at ``threshold`` with intervals over whole items,
    and the lead over ``baseline``: agreement by counting words.
    """

    labels: Judgement  # which labels: supported by sources, or true without
    threshold: float
    accuracy: Accuracy
    baseline: Accuracy


class RunConsistency(msgspec.Struct, frozen=True, kw_only=True):
    """The items of a stored run that were answered several times, by item."""

    run_id: str
    verifier: str
    items: dict[str, ConsistencyResult]
    left_out: int  # items with fewer than two answers: nothing to compare
    accuracy: tuple[ConsistencyAccuracy, ...] = ()  # empty: accuracy unknown
    caution: str = CAUTION
    judge: JudgeNote | None = None

    @property
    def agreement(self) -> float | None:
        """The mean over all claims of all items."""
        claims = [claim for item in self.items.values() for claim in item.claims]
        return mean_known([claim.agreement for claim in claims])


def mean_known(values: Sequence[float | None]) -> float | None:
    """Return the mean of the values that are known; None without any."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
