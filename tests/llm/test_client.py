from __future__ import annotations

import base64
import contextlib
import gzip
import json
import logging
import signal
import threading
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import msgspec
import pytest

from claimwise.config import LlmSection
from claimwise.errors import LlmError
from claimwise.llm import limits
from claimwise.llm.client import make_key, open_client, stop_on_interrupt
from claimwise.llm.limits import ConcurrencyLimiter
from claimwise.llm.outcomes import read_retry_after
from claimwise.llm.parsing import ask_for
from claimwise.llm.prompts import load_prompt
from claimwise.store import open_store
from claimwise.store.replies import open_replies
from claimwise.types.llm import LlmCall, LlmFailure, LlmReply, Price, Tally
from llm.conftest import ANTHROPIC, OPENAI, Opener
from support.clock import FakeClock
from support.faulty_server import FaultyServer
from support.waiting import DEADLINE, wait_until

KEY = "sk-proj-Very_Secret-0123456789"
PRICE = Price(input=1.0, output=10.0)


def make_call(word: str = "hi", model: str = OPENAI, max_tokens: int = 100) -> LlmCall:
    return load_prompt("ping").make_call(model, word=word, max_tokens=max_tokens)


def failed(outcome: LlmReply | LlmFailure) -> str:
    assert isinstance(outcome, LlmFailure), outcome
    assert "\n" not in outcome.detail
    return outcome.code


def detail_of(outcome: LlmReply | LlmFailure) -> str:
    assert isinstance(outcome, LlmFailure), outcome
    return outcome.detail


class Memory:
    """A cache in memory."""

    def __init__(self) -> None:
        self.kept: dict[str, LlmReply] = {}

    def get(self, key: str) -> LlmReply | None:
        return self.kept.get(key)

    def put(self, key: str, call: LlmCall, reply: LlmReply) -> None:
        self.kept[key] = reply

    def drop(self, key: str) -> None:
        self.kept.pop(key, None)


# Replies and failures.


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
def test_reply_comes_with_its_counts(connect: Opener, model: str) -> None:
    with FaultyServer(lambda asked: '{"word": "hi"}') as server:
        client = connect(server, model)
        reply = client.ask(make_call(model=model))
    assert isinstance(reply, LlmReply)
    assert (reply.text, reply.attempts, reply.cached) == ('{"word": "hi"}', 1, False)
    assert reply.served_by.startswith("m-2026")
    assert reply.usage.output_tokens == 4
    assert reply.seconds > 0
    assert server.requests[0].system.startswith("You repeat text.")
    assert server.requests[0].body["temperature"] == 0.0
    tally = client.tally
    assert (tally.sent, tally.replied, tally.output_tokens, tally.cost) == (1, 1, 4, None)


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("fault", ["429", "500", "502", "503", "529", "garbage", "reset", "cut"])
def test_passing_faults_are_tried_again(connect: Opener, model: str, fault: str) -> None:
    with FaultyServer(script=[fault, fault]) as server:
        client = connect(server, model)
        reply = client.ask(make_call(model=model))
    assert isinstance(reply, LlmReply), reply
    assert reply.attempts == 3
    assert (client.tally.sent, client.tally.retried, client.tally.failed) == (3, 2, {})


@pytest.mark.parametrize(
    ("fault", "code", "requests"),
    [
        ("429", "rate_limited", 3),
        ("500", "server_error", 3),
        ("garbage", "bad_reply", 3),
        ("empty", "bad_reply", 3),
        ("reset", "connection", 3),
        ("cut", "connection", 3),
        ("hang", "timeout", 3),
        ("drip", "timeout", 3),
        ("truncated", "truncated", 1),
        ("filtered", "content_filter", 1),
        ("401", "refused_request", 1),
        ("404", "refused_request", 1),
    ],
)
@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
def test_every_ask_ends_with_a_reason(
    connect: Opener, clock: FakeClock, model: str, fault: str, code: str, requests: int
) -> None:
    cache = Memory()
    with FaultyServer(faults={fault: 1.0}, drip=40.0, clock=clock) as server:
        client = connect(server, model, attempts=3, timeout=60.0, cache=cache)
        outcome = client.ask(make_call(model=model))
        assert failed(outcome) == code
        assert server.count == outcome.attempts == requests
    assert client.tally.failed == {code: 1}
    assert cache.kept == {}, "failures are never kept"


def test_truncated_replies_are_billed(connect: Opener) -> None:
    with FaultyServer(faults={"truncated": 1.0}) as server:
        client = connect(server, price=PRICE)
        outcome = client.ask(make_call())
    assert failed(outcome) == "truncated"
    assert outcome.usage.output_tokens
    assert client.tally.output_tokens == outcome.usage.output_tokens
    assert client.tally.cost
    assert client.tally.unsure_cost == 0.0


def test_no_server_is_a_failure(connect: Opener) -> None:
    with FaultyServer() as server:
        pass
    client = connect(server, attempts=2, price=PRICE)
    outcome = client.ask(make_call())
    assert failed(outcome) == "connection"
    assert "refused" in detail_of(outcome)
    assert client.tally.unsure_cost == 0.0, "nothing was sent"


def test_a_wrong_key_is_asked_about_once(connect: Opener) -> None:
    with FaultyServer(faults={"401": 1.0}) as server:
        client = connect(server)
        first, second = client.ask(make_call("a")), client.ask(make_call("b"))
        assert failed(first) == failed(second) == "refused_request"
        assert server.count == 1
    assert "HTTP 401: injected 401" in detail_of(first)
    assert "this one was not sent" in detail_of(second)
    assert client.tally.failed == {"refused_request": 2}


def test_dripping_headers_are_given_up_on(connect: Opener, clock: FakeClock) -> None:
    """Each byte comes in time; the whole does not."""
    began = clock.now
    with FaultyServer(faults={"drip": 1.0}, drip=12.0, clock=clock) as server:
        client = connect(server, attempts=1, timeout=60.0)
        assert failed(client.ask(make_call())) == "timeout"
    # Five bytes of hundreds; the server may begin another while the client hangs up.
    assert 60.0 <= clock.now - began <= 72.0


def test_after_a_timeout_the_next_call_has_a_connection_of_its_own(
    connect: Opener, clock: FakeClock
) -> None:
    with FaultyServer(script=["hang", "ok", "drip", "ok"], drip=40.0, clock=clock) as server:
        client = connect(server, timeout=60.0, concurrency=1)
        for word in ("a", "b"):
            reply = client.ask(make_call(word))
            assert isinstance(reply, LlmReply)
            assert reply.attempts == 2


# What servers refuse.


@pytest.mark.parametrize("model", [OPENAI, ANTHROPIC])
@pytest.mark.parametrize("refused", [{"schema"}, {"temperature"}, {"schema", "temperature"}])
def test_refused_parameters_are_left_out_from_then_on(
    connect: Opener, model: str, refused: set[str]
) -> None:
    with FaultyServer(refuses=sorted(refused)) as server:
        client = connect(server, model)
        for word in ("a", "b", "c"):
            reply = client.ask(make_call(word, model=model))
            assert isinstance(reply, LlmReply)
            assert reply.attempts == 1
        assert server.count == 3 + len(refused)
    assert set(client.tally.refused) == refused


def test_the_limit_of_tokens_has_two_names(connect: Opener) -> None:
    with FaultyServer(refuses=["max_tokens"]) as server:
        client = connect(server)
        assert isinstance(client.ask(make_call("a")), LlmReply)
        assert isinstance(client.ask(make_call("b")), LlmReply)
        assert [sorted(r.body)[0] for r in server.requests] == [
            "max_tokens", "max_completion_tokens", "max_completion_tokens",
        ]  # fmt: skip


def test_another_400_costs_one_more_request_and_changes_nothing(connect: Opener) -> None:
    with FaultyServer(script=["400", "400"]) as server:
        client = connect(server)
        assert failed(client.ask(make_call("a"))) == "refused_request"
        assert isinstance(client.ask(make_call("b")), LlmReply)
        assert "response_format" in server.requests[-1].body
    assert client.tally.refused == ()


def test_a_schema_that_worked_is_not_dropped(connect: Opener) -> None:
    with FaultyServer(script=["ok", "400"]) as server:
        client = connect(server)
        client.ask(make_call("a"))
        assert failed(client.ask(make_call("b"))) == "refused_request"
        assert server.count == 2


# Waiting.


def test_retry_after_is_read() -> None:
    soon = datetime.now(UTC).replace(microsecond=0) + timedelta(seconds=3000)
    assert read_retry_after({"retry-after": "2"}) == 2.0
    assert read_retry_after({"retry-after": "0.5"}) == 0.5
    assert read_retry_after({"retry-after-ms": "250", "retry-after": "9"}) == 0.25
    dated = read_retry_after({"retry-after": format_datetime(soon, usegmt=True)})
    assert dated is not None
    assert (soon - datetime.now(UTC)).total_seconds() <= dated <= 3000
    past = format_datetime(datetime(2020, 1, 1, tzinfo=UTC), usegmt=True)
    assert read_retry_after({"retry-after": past}) == 0.0
    far = "Mon, 01 Jan 2035 00:00:00 +99999999999999"
    for header in ({}, *({"retry-after": said} for said in ("soon", "", "1e", far))):
        assert read_retry_after(header) is None


def test_retry_after_holds_for_every_call(connect: Opener, monkeypatch: pytest.MonkeyPatch) -> None:
    """Others would only be refused as well, and use up their attempts."""
    clock = FakeClock()
    monkeypatch.setattr(limits, "time", clock)
    with FaultyServer(script=["429"], retry_after="0.01") as server:
        client = connect(server)
        with ThreadPoolExecutor(4) as pool:
            asked = [pool.submit(client.ask, make_call("first"))]
            gate = cast(ConcurrencyLimiter, client._gate)
            wait_until(lambda: gate._open_at > clock.now, "the gate is closed")
            asked += [pool.submit(client.ask, make_call(str(n))) for n in range(3)]
            seen = clock.looks
            wait_until(lambda: clock.looks > seen + 20, "all have looked whether it is open")
            assert server.count == 1
            clock.advance(0.01)
            assert all(isinstance(f.result(), LlmReply) for f in asked)
        assert server.count == 5


def test_a_server_that_asks_for_hours_is_not_waited_for(connect: Opener) -> None:
    with FaultyServer(faults={"429": 1.0}, retry_after="7200") as server:
        client = connect(server)
        outcome = client.ask(make_call())
        assert failed(outcome) == "rate_limited"
        assert server.count == 1


def test_concurrency_grows_to_its_limit_and_not_beyond(
    connect: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "_START", 4)
    with FaultyServer() as server:
        client = connect(server, concurrency=10)
        assert client.tally.concurrency == 4
        server.admit(0)
        with ThreadPoolExecutor(20) as pool:
            asked = [pool.submit(client.ask, make_call(str(n))) for n in range(80)]
            wait_until(lambda: server.under_way == 4, "four are under way")
            server.admit(6)  # each reply adds a place
            wait_until(lambda: server.under_way == 10, "ten are under way")
            server.admit()
            assert all(isinstance(one.result(), LlmReply) for one in asked)
        assert server.peak == 10
    assert client.tally.concurrency == 10


def test_concurrency_halves_when_the_server_is_overloaded(connect: Opener) -> None:
    with FaultyServer(script=["429"], retry_after="0") as server:
        client = connect(server, concurrency=16)
        client.ask(make_call("a"))
        assert client.tally.concurrency == 8
        for n in range(8):
            client.ask(make_call(str(n)))
        assert client.tally.concurrency in (8, 9)
        assert server.count == 10


# Money.


def test_a_ceiling_needs_a_price() -> None:
    with pytest.raises(LlmError) as caught:
        open_client("openai:m", max_cost=1.0, environ={"OPENAI_API_KEY": KEY})
    assert str(caught.value).startswith("--max-cost needs the price of openai:m: give --price")
    with open_client("ollama:m", max_cost=1.0, environ={}) as local:
        assert local.price == Price(input=0.0, output=0.0)


def test_the_ceiling_holds_and_refunds_are_used(connect: Opener) -> None:
    """One call's worst case is a third of the money, its bill a fraction of that."""
    with FaultyServer() as server:
        client = connect(server, price=PRICE, max_cost=0.0045)
        server.admit(0)
        with ThreadPoolExecutor(16) as pool:
            asked = [pool.submit(client.ask, make_call(str(n))) for n in range(60)]
            wait_until(lambda: server.under_way == 3, "the money is spoken for")
            server.admit()
            outcomes = [one.result() for one in asked]
        assert server.peak == 3
    replies = [outcome for outcome in outcomes if isinstance(outcome, LlmReply)]
    codes = {outcome.code for outcome in outcomes if isinstance(outcome, LlmFailure)}
    assert codes == {"cost_ceiling"}
    assert 10 < len(replies) < 60
    assert client.tally.cost is not None
    assert 0.003 < client.tally.cost <= 0.0045
    assert client.tally.failed == {"cost_ceiling": 60 - len(replies)}


def test_requests_without_a_bill_count_against_the_ceiling(
    connect: Opener, clock: FakeClock
) -> None:
    with FaultyServer(faults={"hang": 1.0}, clock=clock) as server:
        client = connect(server, price=PRICE, max_cost=0.0025)
        outcome = client.ask(make_call())
        assert failed(outcome) == "cost_ceiling"
        assert server.count == 2
    assert client.tally.cost == 0.0
    assert client.tally.unsure_cost is not None
    assert 0.002 < client.tally.unsure_cost <= 0.0025


def test_replies_without_counts_are_unsure_too(connect: Opener) -> None:
    with FaultyServer(faults={"nousage": 1.0}) as server:
        client = connect(server, price=PRICE)
        reply = client.ask(make_call())
    assert isinstance(reply, LlmReply)
    assert reply.usage.input_tokens is None
    assert client.tally.cost == 0.0
    assert client.tally.unsure_cost


# The cache.


def test_keys_tell_every_field_apart() -> None:
    call = make_call()
    changed = {
        "model": "m:other", "prompt": "ping@2", "system": "s", "user": "u", "schema": None,
        "schema_name": "other", "max_tokens": 1, "temperature": 0.5, "repeat": 2,
        "extra": {"logprobs": True},
    }  # fmt: skip
    assert set(changed) == set(LlmCall.__struct_fields__)
    keys = {make_key(msgspec.structs.replace(call, **{k: v})) for k, v in changed.items()}
    assert len(keys | {make_key(call), make_key(call, "http://elsewhere")}) == len(changed) + 2
    assert make_key(call) == make_key(make_call())
    assert call.schema is not None
    turned = msgspec.structs.replace(call, schema=dict(reversed(call.schema.items())))
    assert make_key(turned) == make_key(call)


def test_replies_that_0_6_kept_are_found() -> None:
    """Its key of this call was recorded; calls had no number then."""
    call = LlmCall(
        model="openai:gpt-4o",
        prompt="ping@1",
        system="You repeat words.",
        user="Repeat this word: yes",
        schema={"type": "object"},
    )
    kept = "fdf01a556c01d17cf888eb0b2aa5b8fb05cefd564dc92eccb8a97c4e474c7cfe"
    assert make_key(call, "https://models.example.com/v1") == kept


def test_the_second_time_is_free(connect: Opener) -> None:
    cache = Memory()
    with FaultyServer() as server:
        client = connect(server, cache=cache)
        first, second = client.ask(make_call()), client.ask(make_call())
        assert isinstance(first, LlmReply)
        assert second == msgspec.structs.replace(first, cached=True)
        assert server.count == 1
        assert client.is_cached(make_call())
        assert not client.is_cached(make_call("other"))
        assert list(cache.kept.values()) == [first]
    assert client.tally.cached == 1


def test_rejected_replies_are_forgotten(connect: Opener) -> None:
    cache = Memory()
    with FaultyServer() as server:
        client = connect(server, cache=cache)
        reply = client.ask(make_call())
        assert isinstance(reply, LlmReply)
        client.reject(make_call(), LlmReply(text="what another thread got before"))
        assert client.is_cached(make_call())
        client.reject(make_call(), reply)
        assert not client.is_cached(make_call())
        client.ask(make_call())
        assert server.count == 2


def test_equal_calls_at_once_are_sent_once(connect: Opener) -> None:
    started = threading.Barrier(8)

    def ask(_: int) -> LlmReply | LlmFailure:
        started.wait()
        return client.ask(make_call())

    with FaultyServer() as server:
        client = connect(server, cache=Memory())
        with ThreadPoolExecutor(8) as pool:
            outcomes = list(pool.map(ask, range(8)))
        assert server.count == 1
    replies = [outcome for outcome in outcomes if isinstance(outcome, LlmReply)]
    assert sorted(reply.cached for reply in replies) == [False] + [True] * 7


def test_a_cache_that_fails_is_not_hidden(connect: Opener, tmp_path: Path) -> None:
    class Full(Memory):
        def put(self, key: str, call: LlmCall, reply: LlmReply) -> None:
            raise LlmError("no space left")

    with FaultyServer() as server:
        client = connect(server, cache=Full())
        for _ in range(2):
            with pytest.raises(LlmError, match="no space left"):
                client.ask(make_call())


# Stopping.


def test_cancelling_sends_waiting_calls_away_and_takes_what_is_under_way(connect: Opener) -> None:
    cache = Memory()
    with FaultyServer() as server:
        client = connect(server, cache=cache, concurrency=2)
        server.admit(0)
        with ThreadPoolExecutor(10) as pool:
            asked = [pool.submit(client.ask, make_call(str(n))) for n in range(10)]
            wait_until(lambda: server.under_way == 2, "two are under way")
            client.cancel(DEADLINE)
            wait_until(lambda: sum(f.done() for f in asked) == 8, "those who waited are gone")
            server.admit()
            outcomes = [f.result() for f in asked]
        assert server.count == 2
        assert failed(client.ask(make_call("later"))) == "cancelled"
    assert Counter(type(outcome) for outcome in outcomes) == {LlmReply: 2, LlmFailure: 8}
    assert {o.code for o in outcomes if isinstance(o, LlmFailure)} == {"cancelled"}
    assert len(cache.kept) == 2


def test_cancelling_ends_hanging_calls_after_the_grace(connect: Opener, clock: FakeClock) -> None:
    with FaultyServer() as server:
        client = connect(server, timeout=3600.0)
        server.admit(0)
        with ThreadPoolExecutor(2) as pool:
            asked = pool.submit(client.ask, make_call())
            wait_until(lambda: server.under_way == 1, "one is under way")
            client.cancel(3.0)
            seen = clock.looks
            wait_until(lambda: clock.looks > seen + 3, "it has looked at the clock")
            assert not asked.done()
            clock.advance(3.0)
            assert failed(asked.result(DEADLINE)) == "cancelled"


def test_calls_that_rest_between_attempts_are_cancelled(connect: Opener) -> None:
    with FaultyServer(faults={"429": 1.0}, retry_after="300") as server:
        client = connect(server)
        with ThreadPoolExecutor(1) as pool:
            asked = pool.submit(client.ask, make_call())
            wait_until(lambda: client.tally.concurrency < 16, "it was refused")
            client.cancel()
            assert failed(asked.result(DEADLINE)) == "cancelled"
        assert server.count == 1


@pytest.mark.parametrize("hit", ["main", "worker"])
def test_interrupt_stops_the_workers_first(connect: Opener, hit: str) -> None:
    """Ctrl-C while the main thread waits for a pool, whichever thread the system hands it to."""
    before = signal.getsignal(signal.SIGINT)
    with FaultyServer() as server:
        client = connect(server, concurrency=2)
        server.admit(0)

        def interrupt() -> None:
            wait_until(lambda: server.under_way == 2, "two are under way")
            thread = threading.main_thread() if hit == "main" else threading.current_thread()
            assert thread.ident is not None
            signal.pthread_kill(thread.ident, signal.SIGINT)
            wait_until(client._stopped.is_set, "the client is stopped")
            server.admit()

        def ask_all() -> None:
            with stop_on_interrupt(client), ThreadPoolExecutor(8) as pool:
                list(pool.map(lambda n: client.ask(make_call(str(n))), range(100)))

        killer = threading.Thread(target=interrupt)
        killer.start()
        with pytest.raises(KeyboardInterrupt):
            ask_all()
        killer.join()
        assert server.count == 2
    assert signal.getsignal(signal.SIGINT) is before


def test_dry_run_sends_nothing(connect: Opener) -> None:
    with FaultyServer() as server:
        client = connect(server, sending=False)
        assert failed(client.ask(make_call())) == "cancelled"
        assert server.count == 0


# Keys.


def test_no_key_is_written_anywhere(
    tmp_path: Path,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Everything that could carry it is searched: logs, output, errors, names, the store."""
    place = str(tmp_path / "store.db")
    open_store(place, create=True).close()
    caplog.set_level(logging.DEBUG)

    seen: list[str] = []
    script = ["ok", "401", "400", "reset", "hang", "garbage", "500"]
    for model, name in ((OPENAI, "CLAIMWISE_API_KEY"), (ANTHROPIC, "ANTHROPIC_API_KEY")):
        for fault in script:
            with (
                FaultyServer(script=[fault] * 3, clock=clock) as server,
                open_replies(place) as cache,
            ):
                environ: dict[str, str] = {}
                server.set_environment(environ)
                environ[name] = KEY
                client = open_client(model, environ=environ, cache=cache)
                client._attempts = 2
                outcome = client.ask(make_call(fault, model=model))
                sent = json.dumps(server.requests[0].headers)
                assert KEY in sent, "the server must get it"
                assert KEY not in json.dumps(server.requests[0].body)
                seen += [repr(outcome), repr(client), str(client), repr(client.tally), repr(cache)]
                client.close()
                seen.append(repr(client._endpoint))
    captured = capfd.readouterr()
    seen += [caplog.text, captured.out, captured.err]
    assert KEY not in "".join(seen)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


def test_a_key_that_the_server_repeats_is_hidden(
    monkeypatch: pytest.MonkeyPatch, connect: Opener
) -> None:
    import support.faulty_server as serving

    said = f"Incorrect API key provided: {KEY} ({KEY[:9]}***{KEY[-4:]})"
    monkeypatch.setattr(
        serving,
        "_make_error",
        lambda asked, text: json.dumps({"error": {"message": said}}).encode(),
    )
    with FaultyServer(faults={"401": 1.0}) as server:
        client = connect(server, environ={"CLAIMWISE_API_KEY": KEY})
        outcome = client.ask(make_call())
    assert failed(outcome) == "refused_request"
    assert detail_of(outcome) == "HTTP 401: Incorrect API key provided: [key] ([key]"


def test_details_can_not_steer_a_terminal(monkeypatch: pytest.MonkeyPatch, connect: Opener) -> None:
    import support.faulty_server as serving

    monkeypatch.setattr(serving, "_make_error", lambda *_: b"\x1b[2J\nhello " + b"x" * 10_000)
    with FaultyServer(faults={"404": 1.0}) as server:
        outcome = connect(server).ask(make_call())
    assert failed(outcome) == "refused_request"
    assert detail_of(outcome).isprintable()
    assert len(detail_of(outcome)) <= 300


def test_proxies_of_the_environment_are_used(monkeypatch: pytest.MonkeyPatch) -> None:
    environ = {"CLAIMWISE_BASE_URL": "http://models.example/v1"}
    with FaultyServer() as server:
        monkeypatch.setenv("http_proxy", server.root)
        with open_client(OPENAI, environ=environ) as client:
            assert isinstance(client.ask(make_call()), LlmReply)
        assert server.requests[0].path == "http://models.example/v1/chat/completions"


# All together.


class Word(msgspec.Struct):
    word: str


def test_one_call_in_six_goes_wrong_and_99_percent_are_answered(connect: Opener) -> None:
    faults = {"malformed": 0.05, "500": 0.05, "429": 0.05, "hang": 0.01}
    with FaultyServer(faults=faults, seed=4) as server:
        # A call that a busy machine lets be late is tried again, like one that hangs.
        client = connect(server, OPENAI, cache=Memory(), timeout=2.0)
        with ThreadPoolExecutor(client.concurrency) as pool:
            outcomes = list(
                pool.map(
                    lambda n: ask_for(client, make_call(str(n), model=OPENAI), Word), range(600)
                )
            )
        injected = Counter(request.fault for request in server.requests)
    assert len(outcomes) == 600
    answered = [outcome for outcome in outcomes if isinstance(outcome, tuple)]
    assert len(answered) >= 594
    assert min(injected[fault] for fault in faults) >= 1
    failures = {o.code for o in outcomes if isinstance(o, LlmFailure)}
    assert failures <= {"unparsable"}, "the model said nonsense twice; all else was mended"


# Servers that send what no server should.


class Plain(BaseHTTPRequestHandler):
    """Answers every request with one status, some headers and one body."""

    answer: tuple[int, dict[str, str], bytes]

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        status, headers, body = self.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        with contextlib.suppress(OSError):  # the client may have heard enough
            self.wfile.write(body)


@contextlib.contextmanager
def answering(
    status: int, body: bytes, headers: dict[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """Serve one answer; yield the environment of a client for it."""
    handler = type("Handler", (Plain,), {"answer": (status, headers or {}, body)})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield {"CLAIMWISE_BASE_URL": f"http://127.0.0.1:{server.server_address[1]}"}
        finally:
            server.shutdown()
            thread.join()


def ask_one(environ: dict[str, str], **options: Any) -> tuple[LlmReply | LlmFailure, Tally]:
    section = LlmSection(attempts=2)
    with open_client(
        OPENAI, environ=environ, section=section, timeout=DEADLINE, **options
    ) as client:
        return client.ask(make_call()), client.tally


def make_body(text: str = '{"word": "hi"}', **more: Any) -> bytes:
    choices = [{"message": {"content": text}, "finish_reason": "stop"}]
    return json.dumps({"choices": choices, **more}).encode()


@pytest.mark.parametrize(
    ("status", "code"), [(200, "bad_reply"), (400, "refused_request"), (500, "server_error")]
)
def test_a_body_without_end_of_nesting_is_a_failure(status: int, code: str) -> None:
    with answering(status, b'{"x":' + b"[" * 100_000) as environ:
        outcome, _ = ask_one(environ)
    assert failed(outcome) == code


def test_a_body_that_unpacks_to_too_much_is_not_read() -> None:
    packed = gzip.compress(b" " * (64 << 20))
    with answering(200, packed, {"content-encoding": "gzip"}) as environ:
        outcome, tally = ask_one(environ)
    assert failed(outcome) == "bad_reply"
    assert "MiB" in detail_of(outcome)
    assert tally.sent == 1  # it would be as long the next time


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -(10**9), "completion_tokens": -(10**9)},
        {"prompt_tokens": 10**30, "completion_tokens": 10**30},
        {"prompt_tokens": "9", "completion_tokens": [1]},
        {"completion_tokens": 1},
        {"prompt_tokens": 1},
    ],
)
def test_a_bill_that_can_be_none_counts_as_none(tmp_path: Path, usage: dict[str, Any]) -> None:
    open_store(tmp_path / "store.db", create=True).close()
    with (
        answering(200, make_body(usage=usage)) as environ,
        open_replies(tmp_path / "store.db") as cache,
    ):
        outcome, tally = ask_one(environ, price=PRICE, max_cost=1.0, cache=cache)
    assert isinstance(outcome, LlmReply)
    assert tally.sent == 1
    assert tally.cost == 0.0
    assert tally.unsure_cost is not None
    assert tally.unsure_cost > 0.001  # the worst case stays counted


def test_whole_numbers_of_tokens_may_be_written_as_floats() -> None:
    with answering(
        200, make_body(usage={"prompt_tokens": 9.0, "completion_tokens": 2.0})
    ) as environ:
        outcome, tally = ask_one(environ)
    assert isinstance(outcome, LlmReply)
    assert (tally.input_tokens, tally.output_tokens) == (9, 2)


def test_an_error_that_comes_as_success_is_told() -> None:
    with answering(200, b'{"error": {"message": "no credits left", "code": 402}}') as environ:
        outcome, _ = ask_one(environ)
    assert failed(outcome) == "bad_reply"
    assert "402 no credits left" in detail_of(outcome)


def test_a_key_that_the_server_repeats_is_not_kept() -> None:
    cache = Memory()
    with answering(200, make_body(f"You sent Bearer {KEY}", model=f"m {KEY}")) as environ:
        outcome, _ = ask_one({**environ, "CLAIMWISE_API_KEY": KEY}, cache=cache)
    assert isinstance(outcome, LlmReply)
    assert outcome.text == "You sent Bearer [key]"
    assert KEY not in str(cache.kept)
    # A word of the text may be the key of a server that takes any.
    with answering(200, make_body("local")) as environ:
        outcome, _ = ask_one({**environ, "CLAIMWISE_API_KEY": "local"})
    assert isinstance(outcome, LlmReply)
    assert outcome.text == "local"


@pytest.mark.parametrize("timeout", [float("inf"), float("nan"), 1e300])
def test_endless_timeouts_are_long_ones(timeout: float) -> None:
    with FaultyServer(lambda asked: '{"word": "hi"}') as server:
        environ = {"CLAIMWISE_BASE_URL": server.url}
        with open_client(OPENAI, environ=environ, timeout=timeout) as client:
            assert isinstance(client.ask(make_call()), LlmReply)


# Proxies.


def test_a_proxy_gets_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("no_proxy", "")
    with FaultyServer(lambda asked: '{"word": "hi"}') as server:
        monkeypatch.setenv("http_proxy", server.root.replace("//", "//me:pass%20word@"))
        environ = {"CLAIMWISE_BASE_URL": "http://models.invalid/v1"}
        with open_client(OPENAI, environ=environ) as client:
            assert isinstance(client.ask(make_call()), LlmReply)
    sent = server.requests[0].headers["proxy-authorization"]
    assert base64.b64decode(sent.removeprefix("Basic ")) == b"me:pass word"


@pytest.mark.parametrize(
    "proxy",
    ["socks5://me:word@h:1", "ftp://me:word@h", "http://", "me:word@h:99999", "http://[me:word",
     "http://me:word@a..b:3", f"http://me:word@{'h' * 64}"],
)  # fmt: skip
def test_a_wrong_proxy_is_one_line_without_its_password(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    monkeypatch.setenv("no_proxy", "")
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(LlmError, match="HTTP_PROXY") as caught:
        open_client(OPENAI, environ={"CLAIMWISE_BASE_URL": "http://models.invalid/v1"})
    assert "word" not in str(caught.value)


# Redirects.


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_takes_the_key_nowhere(status: int) -> None:
    with FaultyServer() as other:
        headers = {"Location": f"{other.url}/chat/completions"}
        with answering(status, b"", headers) as environ:
            outcome, tally = ask_one({**environ, "CLAIMWISE_API_KEY": KEY})
    assert isinstance(outcome, LlmFailure)
    assert (outcome.code, tally.sent, other.count) == ("refused_request", 1, 0)
