"""A run that is judged in batches, here and in processes that are killed at a chosen step."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import claimwise.llm.transport  # noqa: F401 - once for all processes that are forked
from claimwise.checking.run import verify_rounds
from claimwise.judges.grounded import GroundedJudge, GroundedSettings
from claimwise.llm import batch_exchange
from claimwise.llm.batch_client import BatchClient
from claimwise.llm.client import open_client
from claimwise.store import Store, open_store
from claimwise.store.replies import open_replies
from support.batch_server import BatchServer

MODELS = {"openai": "openai:m", "azure": "azure:m", "anthropic": "anthropic:m"}


class Naps:
    """Sleeps not at all, and remembers for how long it should have."""

    def __init__(self, then: Callable[[], None] = lambda: None) -> None:
        self.seconds: list[float] = []
        self._then = then

    def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        self._then()
        assert len(self.seconds) < 1000, "waits for ever"


@contextmanager
def open_batches(
    place: str,
    environ: dict[str, str],
    provider: str = "openai",
    mode: Any = "claims",
    **options: Any,
) -> Iterator[tuple[Store, BatchClient, GroundedJudge]]:
    """Open store, client and judge; batches are remembered beside the store."""
    settings = GroundedSettings(mode=mode, batch=options.pop("batch", None))
    more = {name: options.pop(name) for name in ("wait", "tell", "sleep") if name in options}
    more.setdefault("sleep", Naps())
    make = partial(BatchClient, folder=Path(f"{place}-batches"), **more)
    with (
        open_store(place) as store,
        open_replies(place) as replies,
        open_client(
            MODELS[provider], cache=replies, environ=environ, make=make, **options
        ) as client,
    ):
        assert isinstance(client, BatchClient)
        yield store, client, GroundedJudge(client, settings)


def judge_directly(place: str, server: BatchServer, provider: str, **settings: Any) -> list[Any]:
    """Judge the run call by call; return what that left."""
    environ = server.environ
    with open_store(place) as store, open_client(MODELS[provider], environ=environ) as client:
        verify_rounds(store, "r", GroundedJudge(client, GroundedSettings(**settings)))
        return read_labels(store)


def read_labels(store: Store) -> list[Any]:
    """Return what judging left, but for when it was: verdicts with their spans, and failures."""
    labels = store.query(
        "select item_id, claim_id, verdict, supporting_span, span_start, reason, labeler "
        "from labels order by item_id, claim_id"
    )
    failures = store.query(
        "select item_id, claim_id, reason, detail from unscored_claims order by item_id, claim_id"
    )
    return [*labels, *failures]


def judge_and_die(place: str, environ: dict[str, str], provider: str, step: str) -> None:
    """Judge a run in two passes, and die at a step: ``before:3:MODULE:CLASS.METHOD``, its third
    call.

    Nothing is waited for: a batch that is not listed at once was not taken.
    """
    batch_exchange._SETTLED_SECONDS = 0.0
    when, number, module, name = step.split(":")
    owner_name, method = name.split(".")
    owner = getattr(import_module(module), owner_name)
    inner, left = getattr(owner, method), [int(number)]

    def counted(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if not left[0] and when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        found = inner(*args, **kwargs)
        if not left[0]:
            os.kill(os.getpid(), signal.SIGKILL)
        return found

    setattr(owner, method, counted)
    with open_batches(place, environ, provider, "two-pass") as (store, client, judge):
        verify_rounds(store, "r", judge, batches=client)
