"""What judging a stored run would send, whatever the way of judging."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from claimwise.checking.engine import RunJudge, plan_run
from claimwise.command.judge import CallPlan, plan_calls
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
    """Add up what each round would send: one may be done where another is still to do."""
    rounds = [judge, *(judge.repeat_as(number) for number in range(2, repeats + 1))]
    calls = (plan_run(store, run_id, each, again=again) for each in rounds)
    return plan_calls(chain.from_iterable(calls), client)
