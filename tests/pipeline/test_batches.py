"""Runs judged in provider batches, against a real server that speaks both formats."""

from __future__ import annotations

import shutil
import signal
from collections import Counter
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

from claimwise.checking.run import verify_rounds
from claimwise.cli.main import run as run_command
from claimwise.llm import batch_exchange
from claimwise.store import open_store
from pipeline.batch_runs import (
    MODELS,
    Naps,
    judge_directly,
    open_batches,
    read_labels,
    run_and_die,
)
from pipeline.judged_processes import prepare
from support.batch_server import BatchServer
from support.grounded_model import reply_to_request
from support.waiting import DEADLINE

ALL = {"supported": 4, "contradicted": 4, "unlinked": 4}


@pytest.fixture
def place(tmp_path: Path) -> str:
    """A store with a run of four answers, of three claims each."""
    path = str(tmp_path / "s.db")
    prepare(path, 4)
    return path


def judge(place: str, server: BatchServer, provider: str = "openai", **options: Any) -> Any:
    """Judge what is open in batches; return the result, and what the client did."""
    with open_batches(place, server, provider, **options) as (store, client, judge):
        result, _ = verify_rounds(store, "r", judge, batches=client)
        return result, client.tally


@pytest.mark.parametrize(
    ("provider", "mode", "rounds"),
    [("openai", "claims", 1), ("azure", "two-pass", 2), ("anthropic", "two-pass", 2)],
)
def test_a_run_in_batches_gives_what_single_calls_give(
    place: str, provider: str, mode: str, rounds: int
) -> None:
    shutil.copy(place, f"{place}.direct")
    with BatchServer(reply_to_request) as server:
        result, tally = judge(place, server, provider, mode=mode, batch=2)
        assert (len(server.batches), server.direct) == (rounds, [])
        assert (tally.sent, tally.replied, tally.cached) == (8 * rounds, 8 * rounds, 0)
        direct = judge_directly(f"{place}.direct", server, provider, mode=mode, batch=2)
        assert Counter(asked.user for asked in server.direct) == Counter(server.paid)
        again, nothing = judge(place, server, provider, mode=mode, batch=2)
    assert (result.verdicts, again.judged, nothing.sent) == (ALL, 0, 0)
    with open_store(place) as store:
        assert read_labels(store) == direct
    assert not Path(f"{place}-batches").exists()
    assert all("not-a-real-key" in str(headers) for headers in server.headers)


# Every moment at which something is written down, sent, asked for or kept; twice what happens in
# both rounds of batches.
STEPS = [
    "before:1:claimwise.llm.batch_files:BatchFolder.write",
    "after:1:claimwise.llm.batch_files:BatchFolder.write",
    "after:1:FORMAT.upload",
    "before:1:FORMAT.submit",
    "after:1:FORMAT.submit",  # taken, and nobody heard: the window that could cost twice
    "after:1:claimwise.llm.batch_exchange:BatchExchange._adopt",
    "before:1:FORMAT.poll",
    "after:1:FORMAT.poll",
    "before:1:claimwise.store.replies:StoredReplies.put",
    "after:2:claimwise.store.replies:StoredReplies.put",
    "before:1:claimwise.llm.batch_files:BatchFolder.remove",
    "after:1:claimwise.llm.batch_files:BatchFolder.remove",
    "before:1:FORMAT.submit",
    "after:1:FORMAT.submit",
    "before:1:FORMAT.read_results",
    "before:1:claimwise.checking.engine:_Writer.flush",
    "after:1:claimwise.checking.engine:_Writer.flush",
]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_killed_at_every_step_it_pays_for_nothing_twice(
    place: str, provider: str, forking: ForkServerContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One run in two rounds of batches, killed at each step and taken up again by the next."""
    shutil.copy(place, f"{place}.direct")
    name = {"openai": "OpenAIBatches", "anthropic": "AnthropicBatches"}[provider]
    command = ["verify", "--run", "r", "--judge", MODELS[provider], "--mode", "two-pass"]
    arguments = [*command, "--batch-api", "--store", place]
    with BatchServer(reply_to_request) as server:
        environ: dict[str, str] = {}
        server.set_environment(environ)
        for step in STEPS:
            if step == "after:1:FORMAT.upload" and provider == "anthropic":
                continue  # there is no such request
            where = step.replace("FORMAT", f"claimwise.llm.batch_formats:{name}")
            process = forking.Process(target=run_and_die, args=(arguments, environ, where))
            process.start()
            process.join(DEADLINE)
            assert process.exitcode == -signal.SIGKILL, step
        server.set_environment(monkeypatch)
        assert run_command(arguments) == 0
        assert max(Counter(server.paid).values()) == 1
        assert (len(server.batches), len(server.paid)) == (2, 8)
        direct = judge_directly(f"{place}.direct", server, provider, mode="two-pass")
    with open_store(place) as store:
        assert read_labels(store) == direct
        assert store.audit() == []
    assert not Path(f"{place}-batches").exists()


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_a_batch_whose_answer_was_lost_is_found_again(place: str, provider: str) -> None:
    """It is listed late: that it is not there yet does not mean that it was not taken."""
    step = "POST /batches" if provider == "openai" else "POST /messages/batches"
    told: list[str] = []
    with BatchServer(reply_to_request, script=[f"{step} unheard"], listed_after=3) as server:
        naps = Naps()
        result, _ = judge(place, server, provider, sleep=naps, tell=told.append)
        assert (result.verdicts, len(server.batches), len(naps.seconds)) == (ALL, 1, 3)
    assert told[1] == "batch batch_1: sent by an earlier command, picked up again"


def test_somebody_elses_batch_of_the_same_size_is_not_taken_for_ours(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anthropic keeps nothing of ours with a batch: only its results tell whose it is."""
    monkeypatch.setattr(batch_exchange, "_SETTLED_SECONDS", 0.0)
    with BatchServer(reply_to_request, script=["POST /messages/batches 500"]) as server:
        body = {"model": "m", "messages": [{"role": "user", "content": "foreign"}]}
        server.take("anthropic", [{"custom_id": f"x-{n}", "params": body} for n in range(4)])
        result, tally = judge(place, server, "anthropic")
        assert (result.verdicts, result.unscored, len(server.batches)) == (ALL, {}, 2)
    assert tally.replied == 4
