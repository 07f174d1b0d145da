"""Reads a reply strictly: one JSON object of the asked form, or an error.

Nothing is repaired. A reply that has to be guessed at is no judgement, so what is not whole and
plain JSON is unscored with the code ``unparsable``.
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

import msgspec

from claimwise.errors import make_printable
from claimwise.types.llm import Asker, LlmCall, LlmFailure, LlmReply

T = TypeVar("T")

_FENCE = re.compile(r"\A```(?:json|JSON)?[ \t]*\n(?P<inner>.*)\n[ \t]*```\Z", re.DOTALL)
_ASKED = 3  # times that a model is asked for something that can be read
_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SHOWN = 200


class UnparsableError(ValueError):
    """A reply is not the JSON that was asked for."""

    code = "unparsable"


def parse_reply(text: str, kind: type[T]) -> T:
    """Return a reply as a value of ``kind``.

    White space around the object and one Markdown code fence around it are tolerated, nothing
    else: text before or after it, a key twice, NaN and Infinity, a NUL or half of a surrogate
    pair, and types that are not those of ``kind`` are errors. Unknown keys are refused where
    ``kind`` forbids them.

    Raises:
        UnparsableError: with what is wrong, in one line.
    """
    stripped = text.strip()
    fenced = _FENCE.match(stripped)
    try:
        found = json.loads(
            fenced["inner"] if fenced else stripped,
            object_pairs_hook=_refuse_repeated_keys,
            parse_constant=_refuse_constant,
        )
        if not isinstance(found, dict):
            raise UnparsableError(f"found {type(found).__name__}, expected one JSON object")
        if "\\u" in text:
            _refuse_unstorable(text, found)
        return msgspec.convert(found, kind)
    except UnparsableError:
        raise
    except (ValueError, RecursionError) as error:
        raise UnparsableError(make_printable(str(error))[:_SHOWN]) from error


def ask_for(asker: Asker, call: LlmCall, kind: type[T]) -> tuple[T, LlmReply] | LlmFailure:
    """Ask, and read the reply as ``kind``; an unparsable one is forgotten and asked for again.

    Returns:
        The value and its reply, or a failure: the client's, or ``unparsable``.
    """
    told = ""
    for _ in range(_ASKED):
        reply = asker.ask(call)
        if isinstance(reply, LlmFailure):
            return reply
        try:
            return parse_reply(reply.text, kind), reply
        except UnparsableError as error:
            asker.reject(call, reply)
            told = str(error)
    return LlmFailure(code="unparsable", detail=told, attempts=_ASKED, usage=reply.usage)


def _refuse_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise UnparsableError("found a key twice in one object")
    return found


def _refuse_unstorable(text: str, found: Any) -> None:
    """Refuse what an escape can bring in and no store or terminal takes."""
    if _NUL.search(text):
        raise UnparsableError("found a NUL character")
    msgspec.json.encode(found)  # a ValueError at half of a surrogate pair


def _refuse_constant(name: str) -> Any:
    raise UnparsableError(f"found {name}, which is not JSON")
