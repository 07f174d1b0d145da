"""A run that is judged through a server, here and in processes that can be killed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import claimwise.checking.engine as run_engine
from claimwise.checking.run import verify_run
from claimwise.config import LlmSection
from claimwise.judges.grounded import GroundedJudge, GroundedSettings
from claimwise.llm.client import LlmClient, open_client
from claimwise.store import Store, open_store
from claimwise.store.replies import open_replies
from small_data import SOURCE, answer, item, load, run, source

MODEL = "openai-compatible:m"
TEXT = "The tower is 139 m tall. Entry costs {n} euros. Cats may come in."


def prepare(place: str, answers: int) -> None:
    """Store a run; every answer is another text, so that each is a call of its own."""
    context = {"source_id": "doc", "context_text": SOURCE}
    names = [f"q{n:03}" for n in range(answers)]
    with open_store(place, create=True) as store:
        load(
            store, source(), run(), *map(item, names),
            *(
                answer(name, answer_text=TEXT.format(n=n + 100), contexts=[context])
                for n, name in enumerate(names)
            ),
        )  # fmt: skip


@contextmanager
def open_judge(
    place: str, url: str, mode: Any = "claims", **options: Any
) -> Iterator[tuple[Store, LlmClient, GroundedJudge]]:
    """Open store, client and judge; replies are kept in the store."""
    section = LlmSection(attempts=options.pop("attempts", 5))
    batch = options.pop("batch", None)
    with (
        open_store(place) as store,
        open_replies(place) as replies,
        open_client(
            MODEL,
            section=section,
            cache=replies,
            environ={"CLAIMWISE_BASE_URL": url},
            **options,
        ) as client,
    ):
        yield store, client, GroundedJudge(client, GroundedSettings(mode=mode, batch=batch))


def judge_run(place: str, url: str, concurrency: int) -> None:
    """Judge the run in a process of its own, and write after every answer."""
    run_engine._FLUSH_SECONDS = 0
    os.environ.pop("CLAIMWISE_STORE", None)
    with open_judge(place, url, concurrency=concurrency) as (store, _, judge):
        verify_run(store, "r", judge, threads=concurrency)
