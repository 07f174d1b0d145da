"""A metric for DeepEval."""

from __future__ import annotations

import asyncio
from typing import Any

from claimwise.errors import MissingExtraError
from claimwise.scorers.score import (
    NO_CLAIMS,
    NO_CONTEXTS,
    AnswerScore,
    read_part_text,
    score_answer,
)

try:
    from deepeval.errors import MissingTestCaseParamsError
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase, SingleTurnParams
except ImportError as error:
    raise MissingExtraError("the DeepEval metric", "deepeval-scorer") from error


class ClaimwiseFaithfulness(BaseMetric):
    """The share of an answer's claims that its retrieval context supports.

    An answer without claims, such as a refusal, is skipped: it has no score. Where the judge failed
    the metric has an error and no score.

    Args:
        threshold: the least share that passes.
        verifier: the offline judge: "auto", "embedded" or "lexical".
        judge: a language model in its place, as ``provider:model``.
        strict_mode: whether every judged claim must be supported.
    """

    _required_params = [  # noqa: RUF012 - DeepEval's own spelling
        SingleTurnParams.INPUT,
        SingleTurnParams.ACTUAL_OUTPUT,
        SingleTurnParams.RETRIEVAL_CONTEXT,
    ]

    def __init__(
        self,
        threshold: float = 0.5,
        *,
        verifier: str = "auto",
        judge: str | None = None,
        strict_mode: bool = False,
    ) -> None:
        self.threshold = 1.0 if strict_mode else threshold
        self.strict_mode = strict_mode
        self.evaluation_model = judge or verifier
        self.include_reason = True
        self.async_mode = True
        self.score: float | None = None
        self.reason: str | None = None
        self.success: bool | None = None
        self.error: str | None = None
        self.skipped = False
        self.claims: list[dict[str, Any]] = []
        self._verifier = verifier
        self._judge = judge

    def measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Check one test case; None when nothing could be judged."""
        contexts = test_case.retrieval_context
        found = score_answer(
            test_case.actual_output,
            None if contexts is None else [_to_text(one) for one in contexts],
            question=test_case.input,
            verifier=self._verifier,
            judge=self._judge,
        )
        if found.unscored == NO_CONTEXTS:
            self.error = f"{found.reason} The test case needs retrieval_context."
            raise MissingTestCaseParamsError(self.error)
        self._keep(found)
        return self.score

    async def a_measure(self, test_case: LLMTestCase, *args: Any, **kwargs: Any) -> float | None:
        """Check one test case without holding up others."""
        return await asyncio.to_thread(self.measure, test_case)

    def _keep(self, found: AnswerScore) -> None:
        self.score = found.value
        self.reason = found.reason
        self.evaluation_model = found.judge
        self.claims = found.metadata.get("claims", [])
        self.skipped = found.unscored == NO_CLAIMS
        self.error = None
        if found.unscored is not None and not self.skipped:
            self.error = f"{found.unscored}: {found.reason}"
        self.success = None if found.value is None else found.value >= self.threshold

    def is_successful(self) -> bool | None:
        """Tell whether the share reaches the threshold; None without a share."""
        return self.success

    @property
    def __name__(self) -> str:
        return "Claimwise Faithfulness"


def _to_text(context: Any) -> str:
    """Return a context's text: DeepEval has texts, and objects with a ``context`` and a source."""
    return getattr(context, "context", None) or read_part_text(context) or str(context)
