"""Judges the same answers with other tools; run by the Python of a tool's own environment.

``python judge_rivals.py NAME URL CASES.json CONCURRENCY`` prints a JSON object: CPU seconds of
this process, seconds on the clock, and how many answers got a score. One answer goes first, so
that imports and caches are not counted. Each tool is used as its own pages show it, asynchronous
where it can be, with its telemetry off.
"""

# The tools are installed in environments of their own, where no type checker looks.
# mypy: disable-error-code="import-not-found,untyped-decorator"

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path
from typing import Any

MODEL = "gpt-4o-mini"
PACKAGES = {
    # ragas imports a module that later releases of its dependency do not have.
    "ragas": ["ragas", "langchain-community<0.4", "langchain-core<1", "langchain-openai<1"],
    "autoevals": ["autoevals", "openai"],
    "deepeval": ["deepeval"],
    "inspect": ["inspect-ai", "openai"],
    "trulens": ["trulens-core", "trulens-feedback", "trulens-providers-openai"],
}
SILENCE = {
    "RAGAS_DO_NOT_TRACK": "true",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DEEPEVAL_PER_ATTEMPT_TIMEOUT_SECONDS_OVERRIDE": "600",
    "TRULENS_OTEL_TRACING": "0",
    "INSPECT_DISPLAY": "none",
    "ANONYMIZED_TELEMETRY": "false",
    "DO_NOT_TRACK": "1",
    "OTEL_SDK_DISABLED": "true",
}

Case = dict[str, str]
Judge = Callable[[Sequence[Case], int], int]  # answers, calls at once → answers with a score


def make_async(judge_one: Callable[[Case], Awaitable[Any]]) -> Judge:
    """Return a judge that has so many answers under way in one event loop."""
    loop = asyncio.new_event_loop()

    def judge(cases: Sequence[Case], concurrency: int) -> int:
        limit = asyncio.Semaphore(concurrency)

        async def take(case: Case) -> Any:
            async with limit:
                return await judge_one(case)

        async def take_all() -> list[Any]:
            return await asyncio.gather(*(take(case) for case in cases))

        return sum(score is not None for score in loop.run_until_complete(take_all()))

    return judge


def open_ragas() -> Judge:
    from openai import AsyncOpenAI
    from ragas.llms import llm_factory
    from ragas.metrics.collections import Faithfulness

    metric = Faithfulness(llm=llm_factory(MODEL, client=AsyncOpenAI()))

    async def judge(case: Case) -> Any:
        found = await metric.ascore(
            user_input=case["question"],
            response=case["answer"],
            retrieved_contexts=[case["source"]],
        )
        return found.value

    return make_async(judge)


def open_autoevals() -> Judge:
    from autoevals.ragas import Faithfulness
    from openai import AsyncOpenAI

    client = AsyncOpenAI()

    async def judge(case: Case) -> Any:
        metric = Faithfulness(model=MODEL, client=client)
        found = await metric.eval_async(
            input=case["question"], output=case["answer"], context=case["source"]
        )
        return found.score

    return make_async(judge)


def open_deepeval() -> Judge:
    from deepeval.metrics import FaithfulnessMetric
    from deepeval.models import GPTModel
    from deepeval.test_case import LLMTestCase

    model = GPTModel(
        model=MODEL, base_url=os.environ["OPENAI_BASE_URL"], api_key=os.environ["OPENAI_API_KEY"]
    )

    async def judge(case: Case) -> Any:
        metric = FaithfulnessMetric(model=model)
        test = LLMTestCase(
            input=case["question"],
            actual_output=case["answer"],
            retrieval_context=[case["source"]],
        )
        return await metric.a_measure(test, _show_indicator=False)

    return make_async(judge)


def open_inspect() -> Judge:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import model_graded_fact
    from inspect_ai.solver import Generate, Solver, TaskState, solver

    @solver
    def replay() -> Solver:
        """Give the stored answer instead of asking for one."""

        async def solve(state: TaskState, generate: Generate) -> TaskState:
            state.output = ModelOutput.from_content(MODEL, str(state.metadata["answer"]))
            return state

        return solve

    def judge(cases: Sequence[Case], concurrency: int) -> int:
        samples = [
            Sample(input=c["question"], target=c["source"], metadata={"answer": c["answer"]})
            for c in cases
        ]
        with tempfile.TemporaryDirectory() as folder:
            logs = eval(
                Task(dataset=samples, solver=replay(), scorer=model_graded_fact()),
                model=f"openai/{MODEL}",
                max_connections=concurrency,
                max_samples=concurrency,
                log_dir=folder,
                display="none",
            )
            # Samples are read from the log when asked for.
            return sum(bool(sample.scores) for sample in logs[0].samples or [])

    return judge


def open_trulens() -> Judge:
    from trulens.core.metric.metric import GroundednessConfigs
    from trulens.providers.openai import OpenAI

    provider = OpenAI(model_engine=MODEL, rpm=1_000_000)  # its own limit is 60 calls a minute
    # The model splits: its own splitter would be downloaded, which nobody can here.
    settings = GroundednessConfigs(use_sent_tokenize=False, filter_trivial_statements=True)

    def judge_one(case: Case) -> float:
        score, _ = provider.groundedness_measure_with_cot_reasons(
            source=case["source"], statement=case["answer"], groundedness_configs=settings
        )
        return float(score)

    def judge(cases: Sequence[Case], concurrency: int) -> int:
        with ThreadPoolExecutor(concurrency) as pool:
            return sum(score is not None for score in pool.map(judge_one, cases))

    return judge


OPENERS: dict[str, Callable[[], Judge]] = {
    "ragas": open_ragas,
    "autoevals": open_autoevals,
    "deepeval": open_deepeval,
    "inspect": open_inspect,
    "trulens": open_trulens,
}


def main() -> None:
    name, url, path, concurrency = sys.argv[1:]
    os.environ |= {**SILENCE, "OPENAI_BASE_URL": url, "OPENAI_API_KEY": "not-a-real-key"}
    cases: list[Case] = json.loads(Path(path).read_text(encoding="utf-8"))
    judge = OPENERS[name]()
    judge(cases[:1], 1)
    cpu, wall = time.process_time(), time.perf_counter()
    scored = judge(cases[1:], int(concurrency))
    found = {
        "cpu_s": time.process_time() - cpu,
        "wall_s": time.perf_counter() - wall,
        "scored": scored,
        "version": version(PACKAGES[name][0]),
    }
    print("\n" + json.dumps(found))


if __name__ == "__main__":
    main()
