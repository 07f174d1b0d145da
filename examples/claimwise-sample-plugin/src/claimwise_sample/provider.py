"""A provider with an address, headers, request and response of its own, as Gemini's are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from claimwise.plugins import Features, LlmCall, Provider, Reading, Usage, read_count


class SampleWire:
    """How a call becomes a request body, and a response body a reply."""

    def build_body(self, call: LlmCall, model: str, features: Features) -> dict[str, Any]:
        """Return the request body; the model's name is part of the address."""
        config: dict[str, Any] = {"maxOutputTokens": call.max_tokens}
        if features.temperature:
            config["temperature"] = call.temperature
        if call.schema is not None and features.schema:
            config["responseSchema"] = call.schema
        return {
            "systemInstruction": {"parts": [{"text": call.system}]},
            "contents": [{"role": "user", "parts": [{"text": call.user}]}],
            "generationConfig": config,
        }

    def read_body(self, content: bytes) -> Reading:
        """Read the body of a response; whatever is not a whole reply gets a code."""
        try:
            found = msgspec.json.decode(content)
            candidate = found["candidates"][0]
            text = "".join(part["text"] for part in candidate["content"]["parts"])
        except (msgspec.DecodeError, UnicodeDecodeError, LookupError, TypeError) as error:
            return Reading(code="bad_reply", detail=f"not a reply: {error}")
        counted = found.get("usageMetadata") or {}
        usage = Usage(
            input_tokens=read_count(counted.get("promptTokenCount")),
            output_tokens=read_count(counted.get("candidatesTokenCount")),
        )
        if candidate.get("finishReason") == "MAX_TOKENS":
            return Reading(code="truncated", detail="finishReason MAX_TOKENS", usage=usage)
        return Reading(text=text, usage=usage)


def _make_url(base: str, model: str) -> str:
    return f"{base}/models/{model}:generateContent"


def _make_headers(key: str | None) -> Mapping[str, str]:
    return {"x-sample-api-key": key} if key else {}


SAMPLE_CLOUD = Provider(
    name="sample-cloud",
    description="an example: its host does not exist",
    base_url="https://models.sample.invalid/v1beta",
    base_env="SAMPLE_CLOUD_BASE_URL",
    key_env="SAMPLE_CLOUD_API_KEY",
    wire=SampleWire(),
    make_url=_make_url,
    make_headers=_make_headers,
)
