"""Records for ``mlflow.genai.evaluate``, each with the assessments of its answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from claimwise.transfer.outgoing import (
    AnnotatorKind,
    Meta,
    OutgoingAnswer,
    OutgoingRun,
    drop_none,
    show_time,
)
from claimwise.transfer.target import FAITHFULNESS, VERDICT, Record, Target

_SOURCES: dict[AnnotatorKind, str] = {"HUMAN": "HUMAN", "LLM": "LLM_JUDGE", "CODE": "CODE"}


def make_records(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    """Yield one record; ``assessments`` are what ``mlflow.entities.Assessment`` reads."""
    expected = drop_none({"expected_response": answer.gold_answer})
    if answer.gold_contexts:
        expected["expected_retrieved_context"] = [
            {"content": text} for text in answer.gold_contexts
        ]
    yield drop_none(
        {
            "inputs": drop_none({"question": answer.question, "contexts": answer.texts}),
            "outputs": answer.answer,
            "expectations": expected,
            "tags": {"run_id": run.run.run_id, "item_id": answer.item_id},
            "trace_id": answer.trace_id,
            "assessments": list(_make_assessments(run, answer)),
        }
    )


def _make_assessments(run: OutgoingRun, answer: OutgoingAnswer) -> Iterator[Record]:
    names = [judge.labeler for judge in run.list_judges(answer)]
    source = _name_source(run.kind_of_judge(answer), ", ".join(names) or "claimwise")
    moments = [claim.judged_at for claim in answer.claims if claim.judged_at is not None]
    yield drop_none(
        {
            "assessment_name": FAITHFULNESS,
            "trace_id": answer.trace_id,
            "source": source,
            "create_time": show_time(max(moments, default=run.run.started_at)),
            "last_update_time": show_time(max(moments, default=run.run.started_at)),
            "feedback": _show_feedback(answer.rate, answer.why_unscored, answer.failure),
            "rationale": answer.explanation,
            "metadata": _to_texts(run.describe_answer(answer)),
            "valid": True,
        }
    )
    for claim in answer.claims:
        judge = run.find_judge(claim.labeler)
        moment = show_time(claim.judged_at or run.run.started_at)
        kind: AnnotatorKind = judge.annotator_kind if judge else "CODE"
        yield drop_none(
            {
                "assessment_name": VERDICT,
                "trace_id": answer.trace_id,
                "source": _name_source(kind, claim.labeler or "claimwise"),
                "create_time": moment,
                "last_update_time": moment,
                "feedback": _show_feedback(claim.verdict, claim.why_unscored, claim.detail),
                "rationale": claim.explanation,
                "metadata": _to_texts(run.describe_claim(claim)),
                "valid": True,
            }
        )


def _name_source(kind: AnnotatorKind, name: str) -> Record:
    return {"source_type": _SOURCES[kind], "source_id": name}


def _show_feedback(value: float | str | None, code: str | None, detail: str | None) -> Record:
    """Return a value, or the error that stands in its place."""
    if value is not None:
        return {"value": value}
    return {"value": None, "error": drop_none({"error_code": code, "error_message": detail})}


def _to_texts(fields: Meta) -> dict[str, str]:
    """MLflow's metadata are texts."""
    return {name: _to_text(value) for name, value in fields.items()}


def _to_text(value: Any) -> str:
    if isinstance(value, list):
        return "; ".join(", ".join(f"{k}: {v}" for k, v in one.items()) for one in value)
    return str(value)


TARGET = Target(forms=("jsonl",), make_records=make_records)
