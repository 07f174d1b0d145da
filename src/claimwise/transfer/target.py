"""What a target of ``claimwise export --to`` is: what it writes of an answer, and in which form."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

from claimwise.text.ids import make_content_id
from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingClaim, OutgoingRun

Record = dict[str, Any]
Form = Literal["jsonl", "json", "csv"]

# One name for one figure in all tools.
FAITHFULNESS = "claimwise_faithfulness"  # of an answer: the share of supported claims
VERDICT = "claimwise_verdict"  # of a claim
UNSCORED = "unscored"  # in place of a verdict


@dataclass(frozen=True, kw_only=True, slots=True)
class Target:
    """How a run's answers are written for one tool.

    Attributes:
        forms: the forms that the tool reads; the first is usual.
        make_records: what is written of one answer.
        wrap: makes one document of all records, where the form is JSON.
        per_trace: whether the tool takes scores of its own traces alone.
        numbers_only: whether the tool has no word for “not scored”, so that such answers stay out.
    """

    forms: tuple[Form, ...]
    make_records: Callable[[OutgoingRun, OutgoingAnswer], Iterable[Record]]
    wrap: Callable[[OutgoingRun, list[Record]], object] | None = None
    per_trace: bool = False
    numbers_only: bool = False


def make_score_id(run: OutgoingRun, answer: OutgoingAnswer, claim: OutgoingClaim | None) -> str:
    """Return the id of a figure: sent again, it replaces the one sent before."""
    parts = (run.run.run_id, answer.item_id, str(answer.sample), claim.claim_id if claim else "")
    return "claimwise-" + make_content_id("s1", *parts).removeprefix("s1:")
