"""Replies with the probabilities of their tokens, for models that answer in a word.

A reply is kept as its text. Where a call asks for probabilities, text and probabilities are packed
into one JSON text, so that the cache has them as well.
"""

from __future__ import annotations

import math

import msgspec

from claimwise.llm.wire import Reading
from claimwise.types.llm import LlmCall


class TokenReply(msgspec.Struct, frozen=True, kw_only=True):
    """A reply, and what could have stood at each of its places (token: logarithm)."""

    text: str
    odds: tuple[dict[str, float], ...] = ()

    def weigh(self, *words: str) -> dict[str, float]:
        """Return the probabilities of some words where one of them first stands.

        Case and white space don't matter: "Yes" and " yes" are one word. Empty where none stands,
        or the server gives no probabilities.
        """
        for place in self.odds:
            found = dict.fromkeys(words, 0.0)
            for token, logarithm in place.items():
                word = token.strip().lower()
                if word in found:
                    found[word] += math.exp(min(logarithm, 0.0))
            said = max(place, key=place.__getitem__, default="").strip().lower()
            if said in found:
                return found
        return {}


def pack_reply(call: LlmCall, reading: Reading) -> str:
    """Return what is kept of a reply: its text, with probabilities where the call asks for them."""
    if not (call.extra or {}).get("logprobs"):
        return reading.text
    return msgspec.json.encode(TokenReply(text=reading.text, odds=reading.odds)).decode()


def unpack_reply(call: LlmCall, text: str) -> TokenReply:
    """Return a kept reply as it came."""
    if not (call.extra or {}).get("logprobs"):
        return TokenReply(text=text)
    return msgspec.json.decode(text, type=TokenReply)
