"""Runs judged in provider batches, against a real server that speaks both formats."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
from collections import Counter
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import pytest

from claimwise.checking.run import verify_rounds
from claimwise.errors import BatchesWaitingError, LlmError
from claimwise.llm.batch_anthropic import AnthropicBatches
from claimwise.llm.batch_openai import OpenAIBatches
from claimwise.store import open_store
from claimwise.types.llm import Price
from claimwise.types.progress import JudgeProgress
from pipeline.batch_runs import (
    Naps,
    judge_and_die,
    judge_directly,
    open_batches,
    read_labels,
)
from pipeline.judged_processes import prepare
from support.batch_server import BatchServer
from support.faulty_server import Asked
from support.grounded_model import reply_to_request
from support.scripted import read_fences
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
    with open_batches(place, server.environ, provider, **options) as (store, client, judge):
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
    "before:1:claimwise.store.replies:StoredReplies.replace_all",
    "after:1:claimwise.store.replies:StoredReplies.replace_all",
    "before:1:claimwise.llm.batch_files:BatchFolder.remove",
    "after:1:claimwise.llm.batch_files:BatchFolder.remove",
    "before:1:FORMAT.submit",
    "after:1:FORMAT.submit",
    "before:1:FORMAT.read_results",
    "before:1:claimwise.checking.engine:_Writer.flush",
    "after:1:claimwise.checking.engine:_Writer.flush",
]


# What differs where there is no upload: the rest is the same code.
WITHOUT_UPLOAD = [
    step for step in STEPS if ("FORMAT" in step or "_adopt" in step) and "upload" not in step
]


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_killed_at_every_step_it_pays_for_nothing_twice(
    place: str, provider: str, forking: ForkServerContext
) -> None:
    """One run in two rounds of batches, killed at each step and taken up again by the next."""
    shutil.copy(place, f"{place}.direct")
    kind = {"openai": "OpenAIBatches", "anthropic": "AnthropicBatches"}[provider]
    name = f"claimwise.llm.batch_{provider}:{kind}"
    with BatchServer(reply_to_request) as server:
        for step in STEPS if provider == "openai" else WITHOUT_UPLOAD:
            where = step.replace("FORMAT", name)
            process = forking.Process(
                target=judge_and_die, args=(place, server.environ, provider, where)
            )
            process.start()
            process.join(DEADLINE)
            assert process.exitcode == -signal.SIGKILL, step
        judge(place, server, provider, mode="two-pass")
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
    assert told[1] == "batch batch_1: found again; the provider's answer had been lost"


def test_somebody_elses_batch_of_the_same_size_is_not_taken_for_ours(place: str) -> None:
    """Anthropic keeps nothing of ours with a batch: only its results tell whose it is."""
    with BatchServer(reply_to_request, script=["POST /messages/batches 500"]) as server:
        body = {"model": "m", "messages": [{"role": "user", "content": "foreign"}]}
        server.take("anthropic", [{"custom_id": f"x-{n}", "params": body} for n in range(4)])
        result, tally = judge(place, server, "anthropic")
        assert (result.verdicts, result.unscored, len(server.batches)) == (ALL, {}, 2)
    assert tally.replied == 4


LOST = {
    "expired": "expired",
    "cancelled": "cancelled",
    "lost": "bad_reply",
    "500": "server_error",
    "truncated": "truncated",
}


@pytest.mark.parametrize("provider", ["openai", "anthropic"])
def test_what_a_batch_does_not_answer_is_unscored_and_asked_for_again(
    place: str, provider: str
) -> None:
    prepare(f"{place}.six", 6)
    fates = dict(zip((f"{n} euros" for n in range(100, 105)), LOST, strict=True))

    def decide(asked: Asked) -> str:
        return next((fate for text, fate in fates.items() if text in asked.user), "ok")

    with BatchServer(reply_to_request, fate=decide) as server:
        result, tally = judge(f"{place}.six", server, provider)
        # What is in neither of OpenAI's files is what the batch as a whole has come to.
        codes = Counter({**LOST, **({"lost": "expired"} if provider == "openai" else {})}.values())
        assert result.unscored == {code: 3 * number for code, number in codes.items()}
        assert (sum(result.verdicts.values()), tally.replied) == (3, 1)
        assert tally.failed == codes
        with open_store(f"{place}.six") as store:
            told = store.query("select detail from unscored_claims where reason = 'cancelled'")
        assert all("cancelled" in detail for (detail,) in told)
        fates.clear()
        result, tally = judge(f"{place}.six", server, provider)
        assert (result.unscored, result.judged, tally.sent) == ({}, 15, 5)
    assert Counter(Counter(server.paid).values()) == {2: 5, 1: 1}


def test_a_batch_that_fails_as_a_whole_says_why(place: str) -> None:
    with BatchServer(reply_to_request, refused="Enqueued token limit reached for m") as server:
        result, tally = judge(place, server)
        assert (result.unscored, tally.replied) == ({"refused_request": 12}, 0)
        with open_store(place) as store:
            assert store.query("select distinct detail from unscored_claims") == [
                ("Enqueued token limit reached for m",)
            ]
        server.refused = ""
        assert judge(place, server)[0].verdicts == ALL


def test_a_batch_that_the_provider_refuses_is_one_line_and_leaves_nothing(place: str) -> None:
    with BatchServer(reply_to_request, script=["POST /batches 400"]) as server:
        with pytest.raises(LlmError, match=r"^openai refused a batch: HTTP 400: inj"):
            judge(place, server)
        assert not Path(f"{place}-batches").exists()
        assert judge(place, server)[0].verdicts == ALL


def test_replies_that_cant_be_read_are_asked_for_in_further_batches(place: str) -> None:
    def decide(asked: Asked) -> str:
        """One is malformed at first, one always."""
        bad = ("100 euros" in asked.user and len(server.batches) == 1) or "101 euros" in asked.user
        return "malformed" if bad else "ok"

    with BatchServer(reply_to_request, fate=decide) as server:
        result, tally = judge(place, server)
        assert [len(batch.requests) for batch in server.batches] == [4, 2, 1]
        assert result.unscored == {"unparsable": 3}
        assert (result.verdicts, tally.replied) == (dict.fromkeys(ALL, 3), 7)
        # The one that is no good was not kept: the next command asks again.
        assert judge(place, server)[1].sent == 3


def test_a_later_step_is_not_asked_for_before_the_earlier_one_is_whole(place: str) -> None:
    """Two calls split each answer; while one of them is asked again, its claims are not judged."""
    shutil.copy(place, f"{place}.direct")

    def decide(asked: Asked) -> str:
        is_first = "100 euros" in asked.user and "s2" in read_fences(asked.user)
        return "malformed" if is_first and len(server.batches) == 1 else "ok"

    with BatchServer(reply_to_request, fate=decide) as server:
        assert judge(place, server, mode="two-pass", batch=2)[0].verdicts == ALL
        judge_directly(f"{place}.direct", server, "openai", mode="two-pass", batch=2)
        assert set(server.paid) == {asked.user for asked in server.direct}
        assert [len(batch.requests) for batch in server.batches] == [8, 7, 2]


def test_a_reply_of_little_use_is_not_paid_for_twice_by_a_kill(place: str) -> None:
    """It leaves a claim unscored, and so the cache; but only when the labels are stored."""

    def reply(asked: Asked) -> str:
        whole = reply_to_request(asked)
        if "100 euros" not in asked.user:
            return whole
        return json.dumps({"claims": json.loads(whole)["claims"][:2]})

    def stop() -> None:
        if len(server.batches) > 1:
            raise KeyboardInterrupt

    def decide(asked: Asked) -> str:
        return "malformed" if "101 euros" in asked.user and len(server.batches) == 1 else "ok"

    with BatchServer(reply, fate=decide) as server:
        server.polls = 1
        with pytest.raises(KeyboardInterrupt):
            judge(
                place, server, sleep=Naps(then=lambda: stop() if len(server.batches) > 1 else None)
            )
        server.polls = 0
        assert judge(place, server)[0].unscored == {"missing_id": 1}
    assert Counter(Counter(server.paid).values()) == {1: 3, 2: 1}  # the malformed one, again


def test_limits_split_a_batch(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with BatchServer(reply_to_request) as server:
        monkeypatch.setattr(OpenAIBatches, "most_requests", 3)
        assert judge(place, server)[0].verdicts == ALL
        assert [len(batch.requests) for batch in server.batches] == [3, 1]
        size = max(map(len, server.files.values()))
        monkeypatch.setattr(AnthropicBatches, "most_bytes", size)
        prepare(f"{place}.bytes", 4)
        assert judge(f"{place}.bytes", server, "anthropic")[0].verdicts == ALL
        assert [len(batch.requests) for batch in server.batches[2:]] == [2, 2]


def test_a_parameter_that_is_refused_is_left_out_of_the_next_batch(place: str) -> None:
    def decide(asked: Asked) -> str:
        return "400" if "response_format" in asked.body else "ok"

    with BatchServer(reply_to_request, fate=decide) as server:
        result, tally = judge(place, server)
        assert (result.verdicts, tally.refused) == (ALL, ("schema",))
        assert [len(batch.requests) for batch in server.batches] == [4, 4]


def test_the_price_is_halved_and_the_ceiling_holds(place: str) -> None:
    told: list[str] = []
    with BatchServer(reply_to_request) as server:
        with open_batches(
            place, server.environ, price=Price(input=2.0, output=8.0), max_cost=0.03,
            tell=told.append,
        ) as (store, client, asked):  # fmt: skip
            result, _ = verify_rounds(store, "r", asked, batches=client)
            tally = client.tally
        # Each request may cost US$ 0.012: two fit at first; their bills leave room for the others.
        assert result.verdicts == ALL
        assert len(server.batches) > 1
        assert tally.cost == pytest.approx((tally.input_tokens + 4 * tally.output_tokens) / 1e6)
        shown = [line for line in told if line.startswith("sending")]
        assert "at most US$ 0.02" in shown[0]
        assert "(one by one: US$ 0.04" in shown[0]
        prepare(f"{place}.poor", 2)
        result, tally = judge(
            f"{place}.poor", server, price=Price(input=2.0, output=8.0), max_cost=0.001
        )
        assert (result.unscored, tally.sent) == ({"cost_ceiling": 6}, 0)


def test_without_waiting_the_same_command_picks_it_up(place: str) -> None:
    with BatchServer(reply_to_request, polls=3) as server:
        for _ in range(2):
            with pytest.raises(BatchesWaitingError, match=r"^batch batch_1: 0 of 4 requests done"):
                judge(place, server, wait=False)
        assert len(server.batches) == 1
        assert len(list(Path(f"{place}-batches").glob("*.json"))) == 1
        server.polls = 0
        result, tally = judge(place, server, wait=False)
        assert (result.verdicts, tally.sent, tally.replied) == (ALL, 0, 4)
        assert len(server.batches) == 1


def test_what_is_there_is_stored_while_the_rest_is_under_way(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIBatches, "most_requests", 3)
    with BatchServer(reply_to_request) as server:
        monkeypatch.setattr(server, "is_over", lambda batch: len(batch.requests) == 3)
        with pytest.raises(BatchesWaitingError, match="batch batch_2: 0 of 1 requests done"):
            judge(place, server, wait=False)
        with open_store(place) as store:
            assert len(read_labels(store)) == 9
        monkeypatch.setattr(server, "is_over", lambda batch: True)
        result, tally = judge(place, server)
        assert (result.verdicts, result.judged, tally.replied) == (ALL, 3, 1)


def test_looks_become_rarer_and_a_server_may_say_when(place: str) -> None:
    naps = Naps()
    with BatchServer(reply_to_request, polls=14, script=["GET /batches/… 503"]) as server:
        assert judge(place, server, sleep=naps)[0].verdicts == ALL
        assert naps.seconds[:3] == [1.0, 5.0, 7.5]  # after the failed look, between good ones
        assert naps.seconds == sorted(naps.seconds)
        assert naps.seconds[-1] == 300.0
    prepare(f"{place}.new", 1)
    naps = Naps()
    with BatchServer(reply_to_request, polls=2, retry_after="77") as server:
        judge(f"{place}.new", server, sleep=naps)
    assert naps.seconds == [77.0, 77.0]


def test_all_repeats_go_off_together(place: str) -> None:
    """The first round decides, and its labels are the latest, whatever came when."""
    with BatchServer(reply_to_request) as server:
        with open_batches(place, server.environ) as (store, client, asked):
            result, flips = verify_rounds(store, "r", asked, repeats=3, batches=client)
        assert [len(batch.requests) for batch in server.batches] == [12]
    assert result.verdicts == ALL
    assert flips is not None
    assert (flips.compared, flips.flipped) == (12, 0)


def test_a_reply_that_another_process_has_dropped_is_asked_for_again(place: str) -> None:
    """All were there; before the last answers are judged, somebody found their replies wanting."""
    seen: list[JudgeProgress] = []

    def watch(progress: JudgeProgress) -> None:
        seen.append(progress)
        if not progress.note and sum(not one.note for one in seen) == 2:
            with open_store(place) as other, other.write():
                other.execute("delete from llm_replies")

    with BatchServer(reply_to_request) as server:
        with open_batches(place, server.environ) as (store, client, asked):
            result, _ = verify_rounds(store, "r", asked, batches=client, watch=watch)
        assert [len(batch.requests) for batch in server.batches] == [4, 2]
    assert (result.verdicts, seen[-1].done, seen[-1].total) == (ALL, 4, 4)


def test_one_process_at_a_time_looks_and_submits(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    held: dict[str, bool] = {}

    def note(method: str) -> None:
        inner = getattr(OpenAIBatches, method)

        def noted(*arguments: Any) -> Any:
            handle = os.open(f"{place}-batches/lock", os.O_RDWR)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                held[method] = False
            except BlockingIOError:
                held[method] = True
            finally:
                os.close(handle)
            return inner(*arguments)

        monkeypatch.setattr(OpenAIBatches, method, noted)

    for method in ("submit", "find", "poll"):
        note(method)
    with BatchServer(reply_to_request, script=["POST /batches unheard"]) as server:
        assert judge(place, server)[0].verdicts == ALL
    assert held == {"submit": True, "find": True, "poll": False}


def test_a_record_that_cant_be_read_stops_before_anything_is_sent(place: str) -> None:
    folder = Path(f"{place}-batches")
    folder.mkdir()
    (folder / "0123.json").write_text("{", encoding="utf-8")
    with BatchServer(reply_to_request) as server:
        with pytest.raises(LlmError, match=r"0123\.json: this record of a batch can't be read"):
            judge(place, server)
        assert server.seen == []


def test_a_batch_that_is_gone_stops_where_it_is_needed(place: str) -> None:
    with BatchServer(reply_to_request, polls=1) as server:
        with pytest.raises(BatchesWaitingError):
            judge(place, server, wait=False)
        server.batches.clear()
        with pytest.raises(LlmError, match=r"has no batch batch_1 for this key; .* or delete /"):
            judge(place, server)
        assert server.batches == []
