"""What a wire format is: how a call becomes a request body, and a response body a reply."""

from __future__ import annotations

from typing import Any, Literal, Protocol

import msgspec

from claimwise.types.llm import FailureCode, LlmCall, Usage

LimitName = Literal["max_tokens", "max_completion_tokens"]

_MOST_TOKENS = 1_000_000_000


class Features(msgspec.Struct, frozen=True, kw_only=True):
    """What a server takes. Each starts as the provider says, and is given up when refused."""

    schema: bool = True
    temperature: bool = True
    limit_name: LimitName = "max_tokens"
    logprobs: bool = True

    @property
    def refused(self) -> tuple[str, ...]:
        """What had to be left out."""
        names = ("schema", "temperature", "logprobs")
        return tuple(name for name in names if not getattr(self, name))


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """A response body, read: the whole text, or the code of what is wrong with it."""

    text: str = ""
    served_by: str = ""
    usage: Usage = Usage()
    code: FailureCode | None = None
    detail: str = ""
    # The tokens that could have stood at each place of the text, with the logarithms of their
    # probabilities; empty where the server does not say.
    odds: tuple[dict[str, float], ...] = ()


def read_count(found: Any) -> int | None:
    """Return a count of tokens; None for what can't be one.

    Bills are summed up and kept, so a wrong one must not undo others, nor spoil a good reply.
    """
    known = isinstance(found, int | float) and 0 <= found <= _MOST_TOKENS
    return int(found) if known else None


class Wire(Protocol):
    """A wire format. Modules have these functions; an entry point may bring an object with them."""

    def build_body(self, call: LlmCall, model: str, features: Features) -> dict[str, Any]:
        """Return the request body; ``model`` is the name that the server knows."""
        ...

    def read_body(self, content: bytes) -> Reading:
        """Read the body of a response with status 200."""
        ...


def adapt_features(features: Features, message: str, *, has_schema: bool) -> Features | None:
    """Return what to try after HTTP 400 said ``message``, or None when nothing is left to drop.

    A message that names a parameter settles it. One that names none is put down to the schema,
    which most servers without it refuse in words of their own; but not when it is about length.
    """
    said = message.lower()
    if "max_tokens" in said or "max_completion_tokens" in said:
        swapped: LimitName = (
            "max_tokens" if features.limit_name != "max_tokens" else "max_completion_tokens"
        )
        return msgspec.structs.replace(features, limit_name=swapped)
    if "logprobs" in said and features.logprobs:
        return msgspec.structs.replace(features, logprobs=False)
    if "temperature" in said and features.temperature:
        return msgspec.structs.replace(features, temperature=False)
    too_long = "context" in said or "too long" in said or "too large" in said
    if has_schema and features.schema and not too_long:
        return msgspec.structs.replace(features, schema=False)
    return None
