"""Feedback scores for Opik: the body of ``PUT /v1/private/traces/feedback-scores``."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingRun
from claimwise.transfer.target import FAITHFULNESS, Record, Target


def make_scores(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield the answer's score and one per claim, numbered: Opik keeps one per name and trace.

    Where a trace has several answers, the names tell their turns apart.

    A feedback score must be a number, and has no metadata: an unscored claim is named in the
    answer's reason instead, and who judged stands in every reason.
    """
    turn = "" if answer.turn is None else f"_turn_{answer.turn}"
    yield {
        "id": answer.trace_id,
        "name": f"{FAITHFULNESS}{turn}",
        "value": answer.rate,
        "category_name": answer.label,
        "reason": f"{answer.explanation}\n{_name_judges(run, answer)}",
        "source": "sdk",
    }
    for number, claim in enumerate(answer.claims, start=1):
        if claim.score is None:
            continue
        judge = run.find_judge(claim.labeler)
        yield {
            "id": answer.trace_id,
            "name": f"claimwise_claim_{number}{turn}",
            "value": claim.score,
            "category_name": claim.verdict,
            "reason": f"{claim.explanation}\n{judge.describe_in_line() if judge else ''}",
            "source": "sdk",
        }


def _name_judges(run: OutgoingRun, answer: OutgoingAnswer) -> str:
    return "\n".join(judge.describe_in_line() for judge in run.list_judges(answer))


TARGET = Target(
    forms=("json",),
    make_records=make_scores,
    wrap=lambda run, scores: {"scores": scores},
    per_trace=True,
    numbers_only=True,
)
