"""Says in words what a command did with the answers of a run; the same for every way of judging."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from claimwise.report.format import pluralize


class AnswerCounts(Protocol):
    """What a command counted."""

    @property
    def answers(self) -> int:
        """All answers of the run."""
        ...

    @property
    def failed(self) -> int:
        """Answers that the system did not give."""
        ...

    @property
    def abstained(self) -> int:
        """Answers in which the system declined or asked for clarification."""
        ...

    @property
    def done_before(self) -> int:
        """Answers whose claims had all been judged."""
        ...

    @property
    def without_claims(self) -> int:
        """Answers that claim nothing."""
        ...

    @property
    def split(self) -> int:
        """Claims that the command found and stored."""
        ...


def describe_judged(counts: AnswerCounts, verb: str, judged: int, seconds: float) -> str:
    """Say how many claims of how many answers were judged: those that were open."""
    skipped = counts.failed + counts.abstained + counts.done_before + counts.without_claims
    if not judged and counts.answers == skipped:
        return f"{verb} nothing: no claim was open"
    claims, answers = pluralize(judged, "claim"), pluralize(counts.answers - skipped, "answer")
    speed = f" ({judged / seconds:,.0f} claims/s)" if seconds and judged else ""
    return f"{verb} {claims} of {answers} in {seconds:.1f} s{speed}"


def describe_skipped(counts: AnswerCounts) -> Iterator[str]:
    """Yield a line for everything that happened to some answer, and for claims that were found."""
    for count, unit, one, several in (
        (counts.split, "claim", "was found and stored", "were found and stored"),
        (counts.done_before, "answer", "had been judged before", "had been judged before"),
        (counts.failed, "answer", "was skipped: the system gave none",
         "were skipped: the system gave none"),
        (counts.abstained, "answer", "was skipped: the system declined or asked for clarification",
         "were skipped: the system declined or asked for clarification"),
        (counts.without_claims, "answer", "makes no checkable claim", "make no checkable claim"),
    ):  # fmt: skip
        if count:
            yield f"{pluralize(count, unit)} {one if count == 1 else several}"
