"""Rows of a ragas ``EvaluationDataset``, with our figures in columns of their own."""

from __future__ import annotations

from collections.abc import Iterator

from claimwise.transfer.outgoing import OutgoingAnswer, OutgoingRun, drop_none
from claimwise.transfer.target import FAITHFULNESS, Record, Target


def make_rows(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield one row; ragas reads the columns that it knows and leaves the others alone."""
    about = run.describe_answer(answer)
    about.pop("faithfulness", None)
    yield drop_none(
        {
            "user_input": answer.question,
            "retrieved_contexts": answer.texts,
            "retrieved_context_ids": answer.source_ids,
            "reference_contexts": list(answer.gold_contexts) or None,
            "response": answer.answer,
            "reference": answer.gold_answer,
            FAITHFULNESS: answer.rate,
            **{f"claimwise_{name}": value for name, value in about.items()},
            "claimwise_explanation": answer.explanation,
            "claimwise_claims": [run.describe_claim(claim) for claim in answer.claims],
        }
    )


TARGET = Target(forms=("jsonl", "csv"), make_records=make_rows)
