"""What judging a stored run would send, whatever the way of judging."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from claimwise.cli.judging import CallPlan, plan_calls
from claimwise.pipeline.run_engine import RunJudge, plan_run
from claimwise.store import Store

if TYPE_CHECKING:
    from claimwise.llm.client import LlmClient


def plan_rounds(
    store: Store,
    run_id: str,
    judge: RunJudge[Any],
    client: LlmClient,
    repeats: int,
    *,
    again: bool,
) -> CallPlan:
    """Add up what each round would send: one may be done where another is still to do.

    Only the first round reads the cache.
    """
    first = plan_calls(plan_run(store, run_id, judge, again=again), client)
    others = (judge.repeat_as(number) for number in range(2, repeats + 1))
    plans = (
        plan_calls(plan_run(store, run_id, other, again=again), client, fresh=True)
        for other in others
    )
    return sum(plans, start=first)
