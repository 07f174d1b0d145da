"""An Asker that answers from a script, for judges: the paid service is the only thing mocked."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable
from typing import Any

from claimwise.types.llm import LlmCall, LlmFailure, LlmReply

Script = Callable[[LlmCall], str | dict[str, Any] | LlmFailure]
_FENCE = re.compile(
    r"⟦(?P<label>[\w.-]+) (?P<mark>\w+)⟧\n(?P<text>.*?)\n⟦end (?P=label) (?P=mark)⟧", re.DOTALL
)


class ScriptedAsker:
    """Calls the script for every call; keeps replies as a cache does; counts what happened."""

    def __init__(self, script: Script, model: str = "test:model") -> None:
        self.model = model
        self.calls: list[LlmCall] = []
        self.rejected = 0
        self._script = script
        self._kept: dict[str, LlmReply] = {}
        self._lock = threading.Lock()

    def ask(self, call: LlmCall) -> LlmReply | LlmFailure:
        key = json.dumps([call.prompt, call.system, call.user, call.repeat])
        with self._lock:
            if key in self._kept:
                return self._kept[key]
            self.calls.append(call)
        said = self._script(call)
        if isinstance(said, LlmFailure):
            return said
        reply = LlmReply(text=said if isinstance(said, str) else json.dumps(said))
        self._kept[key] = reply
        return reply

    def reject(self, call: LlmCall, reply: LlmReply) -> None:
        self.rejected += 1
        self._kept.pop(json.dumps([call.prompt, call.system, call.user, call.repeat]), None)


def read_fences(prompt: str) -> dict[str, str]:
    """Return the fenced texts of a prompt by their labels."""
    return {found["label"]: found["text"] for found in _FENCE.finditer(prompt)}
