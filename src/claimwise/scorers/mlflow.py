"""A scorer for ``mlflow.genai.evaluate``."""

from __future__ import annotations

from typing import Any

from claimwise.errors import MissingExtraError
from claimwise.scorers.score import (
    NAME,
    QUESTION_KEYS,
    AnswerScore,
    find_contexts,
    find_value,
    read_part_text,
    score_answer,
)

try:
    from mlflow.entities import AssessmentError, AssessmentSource, Feedback, SpanType, Trace
    from mlflow.genai.scorers import Scorer, scorer
except ImportError as error:
    raise MissingExtraError("the MLflow scorer", "mlflow-scorer") from error

_ANSWER_KEYS = ("response", "answer", "output", "outputs", "content", "text")


def claimwise_faithfulness(
    *, name: str = NAME, verifier: str = "auto", judge: str | None = None
) -> Scorer:
    """Return a scorer: the share of an answer's claims that its contexts support.

    The answer is ``outputs`` (a text, or an object with ``response``, ``answer`` or OpenAI's
    ``choices``). The contexts are what RETRIEVER spans of the trace returned, else ``contexts`` (or
    ``context``, ``retrieved_contexts``, ``documents``) of ``outputs`` or ``inputs``. Where nothing
    could be judged the feedback has an error and no value.

    Args:
        name: the name of the feedback.
        verifier: the offline judge: "auto", "embedded" or "lexical".
        judge: a language model in its place, as ``provider:model``.
    """

    @scorer(name=name, aggregations=["mean", "min"])
    def score(inputs: Any = None, outputs: Any = None, trace: Trace | None = None) -> Feedback:
        found = score_answer(
            _find_answer(outputs),
            _find_contexts(inputs, outputs, trace),
            question=_find_question(inputs),
            verifier=verifier,
            judge=judge,
        )
        return _make_feedback(found, name, "CODE" if judge is None else "LLM_JUDGE")

    return score


def _make_feedback(found: AnswerScore, name: str, source_type: str) -> Feedback:
    error = None
    if found.value is None:
        error = AssessmentError(error_code=found.unscored or "", error_message=found.reason)
    return Feedback(
        name=name,
        value=found.value,
        error=error,
        rationale=found.reason,
        source=AssessmentSource(source_type=source_type, source_id=found.judge),
        # MLflow's metadata are texts; the claims are in the rationale.
        metadata={k: str(v) for k, v in found.metadata.items() if k not in ("claims", "warnings")},
    )


def _find_answer(outputs: Any) -> str | None:
    chosen = find_value(outputs, ("choices",))
    if isinstance(chosen, list) and chosen:
        outputs = find_value(chosen[0], ("message",))
    return outputs if isinstance(outputs, str) else _first_text(outputs, _ANSWER_KEYS)


def _find_question(inputs: Any) -> str | None:
    """Return the question, or the last message of a chat."""
    messages = find_value(inputs, ("messages",))
    if isinstance(messages, list) and messages:
        return read_part_text(messages[-1])
    return _first_text(inputs, QUESTION_KEYS)


def _first_text(fields: Any, keys: tuple[str, ...]) -> str | None:
    found = find_value(fields, keys)
    return found if isinstance(found, str) else None


def _find_contexts(inputs: Any, outputs: Any, trace: Trace | None) -> list[str] | None:
    retrieved = [] if trace is None else trace.search_spans(span_type=SpanType.RETRIEVER)
    if retrieved:
        texts = [find_contexts({"contexts": span.outputs}) or [] for span in retrieved]
        return list(dict.fromkeys(text for some in texts for text in some))
    return find_contexts(outputs) or find_contexts(inputs)
