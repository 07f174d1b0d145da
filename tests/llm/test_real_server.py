"""Judges against a real model behind llama.cpp's server: for the wire, not for the judgement.

The model has 135 million weights and never ends a long reply by itself: prompts are short here, and
where a whole reply is wanted, a prompt of our own has a schema that leaves it the labels alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from claimwise.cli.main import run
from claimwise.llm.client import LlmClient, open_client
from claimwise.llm.prompts import list_prompts, load_prompt
from claimwise.store import open_store
from claimwise.store.replies import open_replies
from claimwise.types.closed_book import FACT_LABELS
from claimwise.types.llm import LlmCall, LlmFailure, LlmReply
from support.real_server import CONTEXT_TOKENS, MODEL, RealServer, find_missing

_MISSING = find_missing()
pytestmark = pytest.mark.skipif(_MISSING is not None, reason=_MISSING or "")

Say = Callable[..., dict[str, Any]]
ANSWER = "The tower is 139 m tall."
SOURCE = "The tower is 139 m tall, with its mast."
SLOW = "300"  # seconds: the tests beside this one take their share of the cores


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealServer]:
    with RealServer(tmp_path_factory.mktemp("server") / "log.txt") as started:
        yield started


@pytest.fixture
def store(tmp_path: Path) -> str:
    place = str(tmp_path / "claims.db")
    open_store(place, create=True).close()
    return place


@pytest.fixture
def connect(server: RealServer, store: str) -> Iterator[LlmClient]:
    """Return a client whose replies are kept in the store."""
    environ: dict[str, str] = {}
    server.set_environment(environ)
    with (
        open_replies(store) as replies,
        open_client(MODEL, cache=replies, environ=environ, timeout=float(SLOW)) as client,
    ):
        yield client


@pytest.fixture
def say(
    server: RealServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Say:
    """Run a command in a project, and return what it prints as JSON."""
    server.set_environment(monkeypatch)
    monkeypatch.delenv("CLAIMWISE_STORE", raising=False)
    monkeypatch.chdir(tmp_path)
    assert run(["init"]) == 0
    Path("answer.txt").write_text(ANSWER, encoding="utf-8")
    Path("source.txt").write_text(SOURCE, encoding="utf-8")

    def call(command: str, *more: str) -> dict[str, Any]:
        files = ["--answer", "answer.txt", *(["source.txt"] if command == "check" else [])]
        judge = ["--judge", MODEL, "--timeout", SLOW, "--format", "json"]
        capsys.readouterr()
        code = run([command, *files, *judge, *more])
        captured = capsys.readouterr()
        assert code in (0, 1), captured.err
        found: dict[str, Any] = json.loads(captured.out)
        return found

    return call


def ping(max_tokens: int) -> LlmCall:
    schema = make_object({"word": {"type": "string", "maxLength": 12}})
    return LlmCall(
        model=MODEL,
        prompt="ping@1",
        system="You repeat words. Reply with JSON.",
        user="Repeat this word: heron",
        schema=schema,
        max_tokens=max_tokens,
    )


# The wire


def test_a_reply_follows_the_schema_and_is_counted(connect: LlmClient) -> None:
    reply = connect.ask(ping(60))
    assert isinstance(reply, LlmReply)
    assert set(json.loads(reply.text)) == {"word"}
    assert reply.served_by == "smollm2"
    assert reply.usage.input_tokens is not None
    assert reply.usage.output_tokens is not None
    assert reply.usage.input_tokens > reply.usage.output_tokens > 0
    tally = connect.tally
    assert tally.refused == ()
    assert (tally.sent, tally.replied, tally.retried) == (1, 1, 0)
    assert (tally.input_tokens, tally.output_tokens) == (
        reply.usage.input_tokens,
        reply.usage.output_tokens,
    )


def test_a_reply_is_asked_for_once(connect: LlmClient) -> None:
    first, second = connect.ask(ping(60)), connect.ask(ping(60))
    repeat = connect.ask(msgspec.structs.replace(ping(60), repeat=2))
    assert isinstance(first, LlmReply)
    assert isinstance(second, LlmReply)
    assert isinstance(repeat, LlmReply)
    assert (first.text, first.cached, second.cached) == (second.text, False, True)
    assert (repeat.text, repeat.cached) == (first.text, False)  # at temperature 0
    assert (connect.tally.sent, connect.tally.cached, connect.tally.cost) == (2, 1, 0.0)


def test_a_cut_reply_is_a_failure_that_is_paid_and_not_kept(connect: LlmClient) -> None:
    for sent in (1, 2):
        cut = connect.ask(ping(4))
        assert isinstance(cut, LlmFailure)
        assert (cut.code, cut.usage.output_tokens, connect.tally.sent) == ("truncated", 4, sent)
    assert connect.tally.failed == {"truncated": 2}
    assert not connect.is_cached(ping(4))


def test_too_long_a_prompt_is_refused_and_not_asked_again(connect: LlmClient) -> None:
    long = LlmCall(model=MODEL, prompt="long@1", system="", user="word " * 3 * CONTEXT_TOKENS)
    refused = connect.ask(long)
    assert isinstance(refused, LlmFailure)
    assert (refused.code, refused.attempts) == ("refused_request", 1)
    assert "exceeds the available context size" in refused.detail
    assert isinstance(connect.ask(ping(60)), LlmReply)


# The judges: that a claim is accounted for whatever a model says is tested with scripted replies


@pytest.mark.parametrize("name", [name for name in list_prompts() if name != "ping"])
def test_the_server_takes_the_schema_of_every_prompt(connect: LlmClient, name: str) -> None:
    """It is a grammar there, and some schemas make none; a few tokens of the reply show it."""
    schema = load_prompt(name).schema
    assert schema is not None
    told = connect.ask(msgspec.structs.replace(ping(8), schema=schema, prompt=f"{name}@0"))
    assert isinstance(told, LlmFailure)
    assert (told.code, told.usage.output_tokens) == ("truncated", 8)
    assert (connect.tally.sent, connect.tally.retried) == (1, 0)  # not without it after a refusal


# The judges with a schema that makes the model end: a whole reply, kept for the next run

HEAD = """+++
name = "{name}"
version = 1
inputs = {inputs}
changelog = ["1: for tests"]
+++
## system
You judge claims. Reply with JSON.
## user
"""


def write_prompt(name: str, inputs: list[str], key: str, entries: list[dict[str, Any]]) -> str:
    slots = "\n".join(f"{{{{{name}}}}}" for name in inputs)
    head = HEAD.format(name=name, inputs=json.dumps(inputs))
    Path(f"{name}.md").write_text(head + slots, encoding="utf-8")
    parts = {key: {"type": "array", "prefixItems": entries}}
    Path(f"{name}.schema.json").write_text(json.dumps(make_object(parts)), encoding="utf-8")
    return f"{name}.md"


def make_object(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def test_a_second_factcheck_is_free(say: Say) -> None:
    def write_entry(number: int, text: str) -> dict[str, Any]:
        label = {"enum": list(FACT_LABELS)}
        claim = make_object({"text": {"const": text}, "label": label})
        claims = {"type": "array", "prefixItems": [claim]}
        return make_object({"id": {"const": f"s{number}"}, "claims": claims})

    text = "The tower is 139 m tall"
    prompt = write_prompt("small-closed", ["pieces"], "pieces", [write_entry(1, text)])
    first, second = (say("factcheck", "--no-resplit", "--prompt", prompt) for _ in range(2))
    assert [claim["text"] for claim in first["claims"]] == [text]
    assert first["claims"] == second["claims"]
    assert first["factual_precision"] == second["factual_precision"]
    spent = [found["claimwise"]["spent"] for found in (first, second)]
    assert [(each["calls"], each["cached"]) for each in spent] == [(1, 0), (0, 1)]
    assert first["claimwise"]["served_by"] == "smollm2"
    assert first["claimwise"]["counts"]["unscored"] == 0


def test_a_second_check_is_free(say: Say) -> None:
    def write_entry(number: int, quote: str) -> dict[str, Any]:
        fields = {"id": {"const": f"c{number}"}, "verdict": {"const": "supported"}}
        return make_object({**fields, "quote": {"const": quote}, "source": {"const": "d1"}})

    quote = "The tower is 139 m tall"
    inputs = ["sources", "question", "answer", "claims"]
    prompt = write_prompt("small-grounded", inputs, "claims", [write_entry(1, quote)])
    first, second = (say("check", "--prompt", prompt) for _ in range(2))
    assert first["claims"] == second["claims"]
    spans = [SOURCE[claim["span"]["start"] : claim["span"]["end"]] for claim in first["claims"]]
    assert spans == [quote]
    assert [claim["unscored"] for claim in first["claims"]] == [None]
    assert [(found["judge"]["sent"], found["judge"]["cached"]) for found in (first, second)] == [
        (1, 0),
        (0, 1),
    ]
