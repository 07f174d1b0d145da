"""What a model would reply to our grounded prompts, by rules that a reader can predict.

A claim is supported where a source has it letter by letter, contradicted where only a number
differs, else unlinked. Works on the prompt alone, as a model does: behind a scripted Asker
(``reply_to_call``) and behind the faulty server (``reply_to_request``).
"""

from __future__ import annotations

import json
import re
from typing import Any

from claimwise.types.llm import LlmCall
from support.faulty_server import Asked
from support.scripted import read_fences

_NUMBER = re.compile(r"\d+")


def reply_to_call(call: LlmCall) -> str:
    return reply_to(call.user)


def reply_to_request(asked: Asked) -> str:
    return reply_to(asked.user)


def reply_to(user: str) -> str:
    fences = read_fences(user)
    sources = {label: text for label, text in fences.items() if re.fullmatch(r"d\d+", label)}
    claims = {label: text for label, text in fences.items() if re.fullmatch(r"c\d+", label)}
    pieces = {label: text for label, text in fences.items() if re.fullmatch(r"s\d+", label)}
    if claims:
        found = [{"id": label, **_judge(text, sources)} for label, text in claims.items()]
        return json.dumps({"claims": found})
    return json.dumps(
        {
            "pieces": [
                {"id": label, "claims": [_take(part, sources) for part in _split(text)]}
                for label, text in pieces.items()
            ]
        }
    )


def _split(text: str) -> list[str]:
    return [part.strip().rstrip(".") + "." for part in text.split(" and ")]


def _take(text: str, sources: dict[str, str]) -> str | dict[str, Any]:
    return {"text": text, **_judge(text, sources)} if sources else text


def _judge(text: str, sources: dict[str, str]) -> dict[str, Any]:
    core = text.strip().rstrip(".!")
    pattern = _NUMBER.sub(r"\\d+", re.escape(core))
    for verdict, wanted in (("supported", re.escape(core)), ("contradicted", pattern)):
        for label, source in sources.items():
            found = re.search(wanted, source)
            if found:
                return _say(verdict, found.group(), label)
    return _say("unlinked", "", "")


def _say(verdict: str, quote: str, source: str) -> dict[str, Any]:
    return {"verdict": verdict, "quote": quote, "source": source, "exceeds": "", "basis": "by rule"}
