"""Annotations for Phoenix: the body of ``POST /v1/trace_annotations``."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingRun, drop_none
from claimwise.transfer.target import (
    FAITHFULNESS,
    UNSCORED,
    VERDICT,
    Record,
    Target,
    make_score_id,
)


def make_annotations(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield the answer's annotation and one per claim; unscored ones have a label and no score.

    Phoenix keeps one annotation per name and identifier: sent again, it is replaced.
    """
    yield {
        "name": FAITHFULNESS,
        "annotator_kind": run.kind_of_judge(answer),
        "trace_id": answer.trace_id,
        "identifier": make_score_id(run, answer, None),
        "result": _show_result(answer.label, answer.rate, answer.explanation),
        "metadata": run.describe_answer(answer),
    }
    for claim in answer.claims:
        judge = run.find_judge(claim.labeler)
        yield {
            "name": VERDICT,
            "annotator_kind": judge.annotator_kind if judge else "CODE",
            "trace_id": answer.trace_id,
            "identifier": make_score_id(run, answer, claim),
            "result": _show_result(claim.verdict, claim.score, claim.explanation),
            "metadata": run.describe_claim(claim),
        }


def _show_result(label: str | None, score: float | None, explanation: str) -> Record:
    return drop_none({"label": label or UNSCORED, "score": score, "explanation": explanation})


TARGET = Target(
    forms=("json",),
    make_records=make_annotations,
    wrap=lambda run, annotations: {"data": annotations},
    per_trace=True,
)
