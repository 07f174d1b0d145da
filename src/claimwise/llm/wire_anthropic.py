"""The Anthropic Messages format."""

from __future__ import annotations

from typing import Any

import msgspec

from claimwise.llm.wire import Features, Reading, read_count
from claimwise.types.llm import FailureCode, LlmCall, Usage

VERSION = "2023-06-01"


class _Block(msgspec.Struct):
    type: str
    text: str = ""


class _Usage(msgspec.Struct):
    input_tokens: Any = None
    output_tokens: Any = None


class _Response(msgspec.Struct):
    content: list[_Block]
    model: str | None = None
    stop_reason: str | None = None
    usage: _Usage | None = None


_DECODER = msgspec.json.Decoder(_Response)
_FAILED: dict[str | None, FailureCode] = {
    "max_tokens": "truncated",
    "model_context_window_exceeded": "truncated",
    "refusal": "content_filter",
}


def build_body(call: LlmCall, model: str, features: Features) -> dict[str, Any]:
    """Return the request body. The limit of tokens has one name here."""
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": call.max_tokens,
        "system": call.system,
        "messages": [{"role": "user", "content": call.user}],
    }
    if features.temperature:
        body["temperature"] = call.temperature
    if call.schema is not None and features.schema:
        body["output_config"] = {"format": {"type": "json_schema", "schema": call.schema}}
    return body


def read_body(content: bytes) -> Reading:
    """Read the body of a response with status 200; blocks that are not text are left out."""
    try:
        found = _DECODER.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return Reading(code="bad_reply", detail=f"not a message: {error}")
    counted = found.usage or _Usage()
    usage = Usage(
        input_tokens=read_count(counted.input_tokens),
        output_tokens=read_count(counted.output_tokens),
    )
    served_by = found.model or ""
    text = "".join(block.text for block in found.content if block.type == "text")
    code = _FAILED.get(found.stop_reason)
    if code is None and not text:
        code = "bad_reply"
    if code is not None:
        told = f"stop_reason {found.stop_reason or 'missing'}"
        return Reading(code=code, detail=told, usage=usage, served_by=served_by)
    return Reading(text=text, served_by=served_by, usage=usage)
