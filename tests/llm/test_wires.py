from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from claimwise.llm import wire_anthropic, wire_openai
from claimwise.llm.wire import Features, adapt_features
from claimwise.types.llm import LlmCall, Usage

SCHEMA = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
CALL = LlmCall(
    model="p:m", prompt="x@1", system="Be strict.", user="Judge.", schema=SCHEMA, schema_name="x",
    max_tokens=9,
)  # fmt: skip


def test_openai_request() -> None:
    assert wire_openai.build_body(CALL, "m", Features(limit_name="max_completion_tokens")) == {
        "model": "m",
        "messages": [
            {"role": "system", "content": "Be strict."},
            {"role": "user", "content": "Judge."},
        ],
        "max_completion_tokens": 9,
        "temperature": 0.0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "x", "strict": True, "schema": SCHEMA},
        },
    }


def test_anthropic_request() -> None:
    assert wire_anthropic.build_body(CALL, "m", Features()) == {
        "model": "m",
        "max_tokens": 9,
        "system": "Be strict.",
        "messages": [{"role": "user", "content": "Judge."}],
        "temperature": 0.0,
        "output_config": {"format": {"type": "json_schema", "schema": SCHEMA}},
    }


@pytest.mark.parametrize("wire", [wire_openai, wire_anthropic])
def test_what_a_server_refuses_is_left_out(wire: Any) -> None:
    body = wire.build_body(CALL, "m", Features(schema=False, temperature=False))
    assert not {"temperature", "response_format", "output_config"} & set(body)
    free = msgspec.structs.replace(CALL, schema=None)
    assert not {"response_format", "output_config"} & set(wire.build_body(free, "m", Features()))


def openai_reply(**choice: Any) -> bytes:
    message = choice.pop("message", {"role": "assistant", "content": "Hi."})
    choices = [{"index": 0, "message": message, **choice}]
    usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return json.dumps({"id": "1", "model": "m-1", "choices": choices, "usage": usage}).encode()


def anthropic_reply(content: Any, reason: str | None = "end_turn") -> bytes:
    usage = {"input_tokens": 3, "output_tokens": 2}
    return json.dumps(
        {"model": "m-1", "content": content, "stop_reason": reason, "usage": usage}
    ).encode()


def test_whole_replies_are_read() -> None:
    blocks = [{"type": "thinking", "thinking": "…"}, *({"type": "text", "text": t} for t in "ab")]
    for found, text in (
        (wire_openai.read_body(openai_reply(finish_reason="stop")), "Hi."),
        (wire_anthropic.read_body(anthropic_reply(blocks)), "ab"),
    ):
        assert (found.code, found.text, found.served_by) == (None, text, "m-1")
        assert found.usage == Usage(input_tokens=3, output_tokens=2)


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (openai_reply(finish_reason="length"), "truncated"),
        (openai_reply(finish_reason="content_filter"), "content_filter"),
        (openai_reply(message={"content": None, "refusal": "No."}), "content_filter"),
        (openai_reply(message={"content": None}), "bad_reply"),
        (openai_reply(message={"content": ""}, finish_reason="stop"), "bad_reply"),
        (b'{"choices": []}', "bad_reply"),
        (b'{"error": {"message": "no"}}', "bad_reply"),
        (b"<html>", "bad_reply"),
        (b"\xff\xfe", "bad_reply"),
        (b"", "bad_reply"),
        (b"[]", "bad_reply"),
    ],
)
def test_openai_replies_that_are_none(content: bytes, code: str) -> None:
    found = wire_openai.read_body(content)
    assert (found.code, found.text) == (code, "")
    assert found.detail


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (anthropic_reply([{"type": "text", "text": "{"}], "max_tokens"), "truncated"),
        (anthropic_reply([], "model_context_window_exceeded"), "truncated"),
        (anthropic_reply([{"type": "text", "text": "I"}], "refusal"), "content_filter"),
        (anthropic_reply([]), "bad_reply"),
        (anthropic_reply([{"type": "tool_use", "input": {}}], "tool_use"), "bad_reply"),
        (b"{}", "bad_reply"),
        (b"<html>", "bad_reply"),
    ],
)
def test_anthropic_replies_that_are_none(content: bytes, code: str) -> None:
    found = wire_anthropic.read_body(content)
    assert (found.code, found.text) == (code, "")
    assert found.detail


@pytest.mark.parametrize("wire", [wire_openai, wire_anthropic])
@given(st.one_of(st.binary(), st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(
        st.sampled_from(["choices", "message", "content", "usage", "type", "text"]), inner),
).map(lambda value: json.dumps(value).encode())))  # fmt: skip
def test_no_envelope_breaks_the_reader(wire: Any, content: bytes) -> None:
    found = wire.read_body(content)
    assert (found.code is None) == bool(found.text)


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
         Features(limit_name="max_completion_tokens")),
        ("'temperature' does not support 0.0 with this model", Features(temperature=False)),
        ("response_format json_schema is not supported", Features(schema=False)),
        ("grammar compile failed", Features(schema=False)),
        ("This model's maximum context length is 8192", None),
        ("prompt is too long", None),
    ],
)  # fmt: skip
def test_refusals_are_understood(message: str, expected: Features | None) -> None:
    assert adapt_features(Features(), message, has_schema=True) == expected


def test_without_a_schema_an_unclear_refusal_stands() -> None:
    assert adapt_features(Features(), "bad request", has_schema=False) is None
    assert adapt_features(Features(schema=False), "bad request", has_schema=True) is None
    assert Features(schema=False, temperature=False).refused == ("schema", "temperature")
