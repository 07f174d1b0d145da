"""A scorer for Inspect tasks."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial

from claimwise.errors import MissingExtraError
from claimwise.scorers.score import CONTEXT_KEYS, find_contexts, score_answer

try:
    from anyio.to_thread import run_sync
    from inspect_ai.scorer import Score, Target, mean, scorer, stderr
    from inspect_ai.solver import TaskState
except ImportError as error:
    raise MissingExtraError("the Inspect scorer", "inspect-scorer") from error


@scorer(metrics=[mean(), stderr()])
def claimwise_faithfulness(
    contexts: str | None = None, verifier: str = "auto", judge: str | None = None
) -> Callable[[TaskState, Target], Awaitable[Score]]:
    """Score the share of an answer's claims that its contexts support.

    The contexts are in the sample's metadata, or put there by a solver that retrieves. Where
    nothing could be judged the score is Inspect's own “unscored”, which metrics leave out.

    Args:
        contexts: the key of the metadata (default: ``contexts``, ``context``,
            ``retrieved_contexts``, ``retrieval_context`` or ``documents``).
        verifier: the offline judge: "auto", "embedded" or "lexical".
        judge: a language model in its place, as ``provider:model``.
    """
    keys = CONTEXT_KEYS if contexts is None else (contexts,)

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        work = partial(
            score_answer,
            answer,
            find_contexts(state.metadata, keys),
            question=state.input_text,
            verifier=verifier,
            judge=judge,
        )
        found = await run_sync(work)
        told = {"answer": answer, "explanation": found.reason, "metadata": found.metadata}
        if found.value is None:
            return Score.unscored(reason=found.unscored, **told)
        return Score(value=found.value, **told)

    return score
