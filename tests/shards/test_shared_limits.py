"""What workers share when a language model judges: turns, money and replies."""

from __future__ import annotations

from pathlib import Path

import pytest

from claimwise.cli.main import run
from claimwise.shards.sharing import (
    LOST_SECONDS,
    Keeper,
    SharedLimits,
    SharedSettings,
    serve_keeper,
)
from claimwise.store import open_store
from shards.shard_files import make_files
from support.clock import FakeClock
from support.faulty_server import FaultyServer
from support.grounded_model import reply_to_request


def test_a_lost_worker_gives_back_its_turns_and_its_money_counts_as_spent() -> None:
    clock = FakeClock()
    keeper = Keeper(SharedSettings(concurrency=1, max_cost=1.0), clock.monotonic)
    assert keeper.reserve("lost", 0.6)
    entered = keeper.enter("lost")
    assert entered is not None
    assert keeper.enter("other") is None
    assert keeper.reserve("other", 0.6) is None  # there may be, when the lost one has its bill

    clock.advance(LOST_SECONDS / 2)
    keeper.beat("lost")
    clock.advance(LOST_SECONDS - 1)
    assert keeper.enter("other") is None
    clock.advance(2)
    assert keeper.enter("other") is not None
    assert keeper.reserve("other", 0.6) is False
    assert keeper.read_spent() == (0.0, 0.6)

    keeper.leave("lost", entered, False, True)  # it lives after all: nothing is counted twice
    keeper.settle("lost", 0.6, 0.1)
    assert keeper.read_spent() == (0.0, 0.6)
    assert keeper.enter("third") is None


def test_workers_reach_a_keeper_in_another_process() -> None:
    with serve_keeper(SharedSettings(concurrency=1, max_cost=1.0)) as link:
        one, other = SharedLimits(link), SharedLimits(link)
        entered = one.limiter.enter()
        assert entered is not None
        assert one.budget.reserve(0.7)
        assert not other.budget.reserve(0.7, wait=False)
        one.limiter.leave(entered, overloaded=False, replied=True)
        assert other.limiter.enter() is not None
        one.budget.settle(0.7, 0.5)
        assert not other.budget.reserve(0.7)
        assert link.call("read_spent") == (0.5, 0.0)
        assert one.cache.get("unknown") is None
        one.limiter.stop()
        assert one.limiter.enter() is None
        other.limiter.stop()


def test_two_processes_keep_to_one_budget_and_pay_for_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    make_files(tmp_path / "in", 4, 3)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    open_store(tmp_path / "claimwise.db", create=True).close()
    arguments = ["--input", "in/*.jsonl", "--output", "out", "--store", "claimwise.db"]
    arguments += ["--judge", "openai-compatible:m", "--price", "1000,1000", "--concurrency", "2"]
    with FaultyServer(reply_to_request) as server:
        server.set_environment(monkeypatch)
        assert run(["verify", *arguments, "--workers", "2", "--max-cost", "8"]) == 0
        first = server.count
        assert 0 < first < 12
        told = capsys.readouterr()
        assert "cost_ceiling" in told.out
        assert "US$" in told.err

        assert run(["verify", *arguments, "--workers", "1"]) == 0
        assert "unscored" not in capsys.readouterr().out
        assert server.count == 12  # every answer once, in both commands together
        assert server.peak <= 2
    with open_store(tmp_path / "out") as store:
        assert store.query("select count(*), count(distinct claim_id) from labels") == [(36, 36)]
