"""The model behind a closed-book judge, played by a script."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from claimwise.types.llm import LlmCall, LlmFailure, LlmReply, Usage

Said = str | dict[str, Any] | LlmFailure


class ScriptedAsker:
    """Gives the replies in order, the last one for ever; or what a function makes of the call."""

    model = "scripted:one"

    def __init__(self, *said: Said | Callable[[LlmCall], Said]) -> None:
        self._said = said
        self.calls: list[LlmCall] = []
        self.rejected: list[LlmCall] = []

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        said = self._said[min(len(self.calls), len(self._said) - 1)]
        self.calls.append(call)
        if callable(said):
            said = said(call)
        if isinstance(said, LlmFailure):
            return said
        text = said if isinstance(said, str) else json.dumps(said)
        return LlmReply(
            text=text, served_by="one-2026", usage=Usage(input_tokens=100, output_tokens=10)
        )

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        self.rejected.append(call)


def read_pieces(user: str) -> dict[str, str]:
    """Return the pieces of a closed-book prompt by id, as a model would read them."""
    found = {}
    for line in user.splitlines():
        if line.startswith('{"id": '):
            piece = json.loads(line)
            assert piece["id"] not in found, "an id was forged"
            found[piece["id"]] = piece["text"]
    return found


def label_pieces(user: str, label: Callable[[str], str]) -> dict[str, Any]:
    """Return the reply that takes every piece as one claim and labels it."""
    return {
        "pieces": [
            {
                "id": name,
                "claims": [{"text": text, "label": label(text), "decision_basis": "known"}],
            }
            for name, text in read_pieces(user).items()
        ],
        "summary_basis": "Judged by a script.",
    }
