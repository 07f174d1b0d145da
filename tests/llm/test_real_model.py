"""A real model over a real server: not for its judgement, for the wire."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from claimwise.llm.client import LlmClient, open_client
from claimwise.llm.parsing import ask_for, parse_reply
from claimwise.llm.prompts import load_prompt
from claimwise.store import open_store
from claimwise.store.replies import open_replies
from claimwise.types.llm import LlmCall, LlmFailure, LlmReply
from support.real_server import MODEL, RealServer, find_missing

pytestmark = pytest.mark.skipif(find_missing() is not None, reason=str(find_missing()))


class Word(msgspec.Struct, forbid_unknown_fields=True):
    word: str


@pytest.fixture(scope="module")
def environ(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    found: dict[str, str] = {}
    with RealServer(tmp_path_factory.mktemp("server") / "log") as server:
        server.set_environment(found)
        yield found


@pytest.fixture
def client(environ: dict[str, str], tmp_path: Path) -> Iterator[LlmClient]:
    place = str(tmp_path / "store.db")
    open_store(place, create=True).close()
    with (
        open_replies(place) as cache,
        open_client(MODEL, environ=environ, cache=cache) as opened,
    ):
        yield opened


def test_the_schema_holds_a_small_model_to_the_form(client: LlmClient) -> None:
    call = load_prompt("ping").make_call(MODEL, word="lighthouse", max_tokens=200)
    found = ask_for(client, call, Word)
    assert isinstance(found, tuple), found
    reply = found[1]
    assert reply.usage.input_tokens
    assert reply.usage.output_tokens
    assert reply.served_by
    again = ask_for(client, call, Word)
    assert isinstance(again, tuple)
    assert again[1].cached
    assert again[0] == found[0]
    tally = client.tally
    assert (tally.sent, tally.replied, tally.cached, tally.cost) == (1, 1, 1, 0.0)
    assert tally.refused == ()


def test_temperature_0_says_the_same_twice(client: LlmClient) -> None:
    call = load_prompt("ping").make_call(MODEL, word="harbour", max_tokens=200)
    replies = [client.ask(msgspec.structs.replace(call, repeat=n)) for n in (1, 2)]
    texts = {parse_reply(r.text, Word).word for r in replies if isinstance(r, LlmReply)}
    assert len(texts) == 1


def test_a_reply_that_is_cut_off_is_none(client: LlmClient) -> None:
    call = LlmCall(model=MODEL, prompt="x@1", system="", user="Count from 1 to 1000.", max_tokens=8)
    outcome = client.ask(call)
    assert isinstance(outcome, LlmFailure)
    assert outcome.code == "truncated"
    assert outcome.usage.output_tokens == 8
    assert not client.is_cached(call)


def test_a_prompt_that_is_too_long_is_refused(client: LlmClient) -> None:
    call = load_prompt("ping").make_call(MODEL, word="word " * 20_000)
    outcome = client.ask(call)
    assert isinstance(outcome, LlmFailure)
    assert outcome.code == "refused_request"
    assert outcome.detail.startswith("HTTP 400: ")
