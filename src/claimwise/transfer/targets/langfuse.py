"""Bodies of ``POST /api/public/scores`` of Langfuse, one per line."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingRun
from claimwise.transfer.target import FAITHFULNESS, UNSCORED, VERDICT, Record, Target, make_score_id


def make_scores(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield the answer's share of supported claims as a number, and each verdict as a category.

    A claim without a verdict has the category “unscored”. An answer without a share has a category
    of its own, which names the reason: it must not enter the mean of the shares.
    """
    common = {"traceId": answer.trace_id}
    unscored = {"name": "claimwise_unscored", "value": answer.why_unscored}
    share = {"name": FAITHFULNESS, "value": answer.rate}
    yield {
        "id": make_score_id(run, answer, None),
        **common,
        **(unscored if answer.rate is None else share),
        "dataType": "CATEGORICAL" if answer.rate is None else "NUMERIC",
        "comment": answer.explanation,
        "metadata": run.describe_answer(answer),
    }
    for claim in answer.claims:
        yield {
            "id": make_score_id(run, answer, claim),
            **common,
            "name": VERDICT,
            "value": claim.verdict or UNSCORED,
            "dataType": "CATEGORICAL",
            "comment": claim.explanation,
            "metadata": run.describe_claim(claim),
        }


TARGET = Target(forms=("jsonl",), make_records=make_scores, per_trace=True)
