"""Test cases that DeepEval's ``EvaluationDataset`` loads, or takes as goldens."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingRun, drop_none
from claimwise.transfer.target import Record, Target


def make_cases(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield one test case. ``context`` is DeepEval's name for gold, not for what was retrieved.

    DeepEval refuses a case without ``actual_output``; where there was no answer it is null.
    """
    sample = f"#{answer.sample}" if answer.sample else ""
    yield {
        "name": f"{answer.item_id}{sample}",
        "input": answer.question,
        "actual_output": answer.answer,
        **drop_none(
            {
                "expected_output": answer.gold_answer,
                "retrieval_context": answer.texts,
                "context": list(answer.gold_contexts) or None,
            }
        ),
        "comments": answer.explanation,
        "additional_metadata": {
            **run.describe_answer(answer),
            "claims": [run.describe_claim(claim) for claim in answer.claims],
        },
    }


TARGET = Target(forms=("json",), make_records=make_cases, wrap=lambda run, cases: cases)
