"""The OpenAI Chat Completions format, which most other servers speak too."""

from __future__ import annotations

from typing import Any

import msgspec

from claimwise.llm.wire import Features, Reading, read_count
from claimwise.types.llm import FailureCode, LlmCall, Usage


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None
    logprobs: Any = None


class _Usage(msgspec.Struct):
    prompt_tokens: Any = None
    completion_tokens: Any = None


class _Response(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    usage: _Usage | None = None


_DECODER = msgspec.json.Decoder(_Response)
_FAILED: dict[str | None, FailureCode] = {
    "length": "truncated",
    "content_filter": "content_filter",
}


def build_body(call: LlmCall, model: str, features: Features) -> dict[str, Any]:
    """Return the request body."""
    said = [{"role": "system", "content": call.system}, {"role": "user", "content": call.user}]
    body: dict[str, Any] = {
        "model": model,
        "messages": [message for message in said if message["content"]],
        features.limit_name: call.max_tokens,
    }
    if features.temperature:
        body["temperature"] = call.temperature
    if call.schema is not None and features.schema:
        named = {"name": call.schema_name, "strict": True, "schema": call.schema}
        body["response_format"] = {"type": "json_schema", "json_schema": named}
    left_out = () if features.logprobs else ("logprobs", "top_logprobs")
    extra = call.extra or {}
    return body | {name: value for name, value in extra.items() if name not in left_out}


def read_body(content: bytes) -> Reading:
    """Read the body of a response with status 200."""
    try:
        found = _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Reading(code="bad_reply", detail=f"not a chat completion: {error}")
    counted = found.usage or _Usage()
    usage = Usage(
        input_tokens=read_count(counted.prompt_tokens),
        output_tokens=read_count(counted.completion_tokens),
    )
    served_by = found.model or ""
    if not found.choices:
        return Reading(code="bad_reply", detail="a chat completion without a choice", usage=usage)
    choice = found.choices[0]
    code = _FAILED.get(choice.finish_reason)
    if code is None and choice.message.refusal:
        code = "content_filter"
    if code is None and not choice.message.content:
        code = "bad_reply"
    if code is not None:
        told = f"finish_reason {choice.finish_reason or 'missing'}"
        return Reading(code=code, detail=told, usage=usage, served_by=served_by)
    return Reading(
        text=choice.message.content or "",
        served_by=served_by,
        usage=usage,
        odds=_read_odds(choice.logprobs),
    )


class _Token(msgspec.Struct):
    token: str
    logprob: float


class _Place(msgspec.Struct):
    token: str
    logprob: float
    top_logprobs: list[_Token] = []


class _Logprobs(msgspec.Struct):
    content: list[_Place] = []


def _read_odds(found: Any) -> tuple[dict[str, float], ...]:
    """Return what could have stood at each place; nothing where the server tells it otherwise."""
    if found is None:
        return ()
    try:
        places = msgspec.convert(found, _Logprobs).content
    except msgspec.ValidationError:
        return ()
    return tuple(
        {one.token: one.logprob for one in place.top_logprobs} | {place.token: place.logprob}
        for place in places
    )
