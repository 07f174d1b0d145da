"""Clients of a local server: real HTTP, no waiting between attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import claimwise.llm.client as client_module
from claimwise.config import LlmSection
from claimwise.llm import transport
from claimwise.llm.client import LlmClient, open_client
from support.clock import FakeClock
from support.faulty_server import FaultyServer
from support.waiting import DEADLINE

OPENAI, ANTHROPIC = "openai-compatible:m", "anthropic:m"

Opener = Callable[..., LlmClient]


@pytest.fixture(autouse=True)
def _soon_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_module, "_BACKOFF_SECONDS", 0.01)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> FakeClock:
    """The clock by which requests are too late: for a server that moves it."""
    clock = FakeClock()
    monkeypatch.setattr(transport, "time", clock)
    monkeypatch.setattr(transport, "_SLICE_SECONDS", 0.02)  # between looks at it, really waited
    return clock


@pytest.fixture
def connect() -> Iterator[Opener]:
    """Return what opens a client for a server; it is closed in the end."""
    with ExitStack() as opened:

        def open_for(server: FaultyServer, model: str = OPENAI, **options: Any) -> LlmClient:
            environ: dict[str, str] = {}
            server.set_environment(environ)
            environ |= options.pop("environ", {})
            options.setdefault("section", LlmSection(attempts=options.pop("attempts", 6)))
            options.setdefault("timeout", DEADLINE)
            return opened.enter_context(open_client(model, environ=environ, **options))

        yield open_for
