"""Reads conversations: every turn of the assistant is an answer, with the evidence of its turn.

A turn begins where the user speaks. Its answer is what the assistant says after the last tool it
used; what tools returned in it is its evidence, and what the user said is none. Reasoning is never
the answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from claimwise.readers.evalfiles.passages import read_passages
from claimwise.readers.evalfiles.values import (
    is_nothing,
    normalise_name,
    parse_cell,
    strip_reasoning,
    to_id,
    to_json,
    to_text,
)
from claimwise.types.traces import Passage, ToolCall

_ROLES = {
    "user": "user", "human": "user", "customer": "user",
    "assistant": "assistant", "ai": "assistant", "gpt": "assistant", "bot": "assistant",
    "model": "assistant", "chatbot": "assistant", "agent": "assistant",
    "tool": "tool", "function": "tool", "ipython": "tool", "observation": "tool",
    "system": "system", "developer": "system",
}  # fmt: skip
_ROLE_KEYS = ("role", "from", "type", "speaker", "sender")
_TEXT_KEYS = ("content", "contents", "value", "text", "message", "parts")
_REASONING = frozenset({"reasoning", "thinking", "redacted_thinking", "reasoning_text", "thought"})
_CALLS = frozenset({"tool_use", "tool_call", "function_call", "server_tool_use", "toolcall"})
_OUTPUTS = frozenset({"tool_result", "tool_call_response", "function_call_output", "tool_response"})
_CONTEXTS = ("retrievalcontext", "retrievedcontexts", "contexts", "context", "documents",
             "sources", "citations")  # fmt: skip


class ChatMessage(msgspec.Struct, kw_only=True):
    """One message: who says it, its text, and the tools that it calls or answers for."""

    role: str
    text: str | None = None
    calls: list[ToolCall] = []
    passages: list[Passage] = []
    reasoning: int = 0


class ChatTurn(msgspec.Struct, kw_only=True):
    """What the user asked and what came of it until the user spoke again."""

    question: str | None
    answer: str | None = None
    passages: tuple[Passage, ...] = ()
    actions: tuple[ToolCall, ...] = ()
    # What was left out, by its name.
    dropped: dict[str, int] = {}


def read_chat(value: Any) -> list[ChatMessage] | None:
    """Return the messages of a cell; None where it holds no conversation."""
    found = parse_cell(value)
    if isinstance(found, Mapping):
        inner = found.get("messages") or found.get("turns") or found.get("conversation")
        return read_chat(inner) if isinstance(inner, list) else None
    if not isinstance(found, list) or not found:
        return None
    messages = [_read_message(part) for part in found]
    if any(message is None for message in messages):
        return None
    return [message for message in messages if message is not None]


def list_turns(messages: Sequence[ChatMessage]) -> Iterator[ChatTurn]:
    """Yield the turns; what comes before the user speaks belongs to the first of them."""
    turn: list[ChatMessage] = []
    asked = False
    for message in messages:
        if message.role == "user" and any(one.role != "user" for one in turn if asked):
            yield _close_turn(turn)
            turn = []
        asked = asked or message.role == "user"
        if message.role != "system":
            turn.append(message)
    if turn:
        yield _close_turn(turn)


def find_last_turn(messages: Sequence[ChatMessage]) -> ChatTurn | None:
    """Return the last turn, if there is one."""
    return next(reversed(list(list_turns(messages))), None)


def _close_turn(turn: Sequence[ChatMessage]) -> ChatTurn:
    questions = [one.text for one in turn if one.role == "user" and one.text]
    spoken = [n for n, one in enumerate(turn) if one.role == "assistant" and one.text]
    worked = [n for n, one in enumerate(turn) if one.calls or one.role == "tool"]
    last = max(worked, default=-1)
    final = [n for n in spoken if n > last] or spoken[-1:]
    dropped = Counter(
        {
            "interim messages of the assistant": len(spoken) - len(final),
            "reasoning parts": sum(one.reasoning for one in turn),
        }
    )
    return ChatTurn(
        question="\n".join(questions) or None,
        answer="\n".join(turn[n].text or "" for n in final) or None,
        passages=tuple(p for one in turn for p in one.passages),
        actions=tuple(call for one in turn for call in one.calls),
        dropped=dict(+dropped),
    )


def _read_message(value: Any) -> ChatMessage | None:
    if not isinstance(value, Mapping):
        return None
    inner = value.get("message")
    fields: Mapping[str, Any] = inner if isinstance(inner, Mapping) else value
    names = {normalise_name(str(name)): part for name, part in fields.items()}
    role = next((_ROLES[r] for key in _ROLE_KEYS if (r := _lower(names.get(key))) in _ROLES), None)
    kind = _lower(names.get("type"))
    if role is None and kind in _CALLS | _OUTPUTS | _REASONING:  # items of OpenAI's Responses
        role = "assistant" if kind in _CALLS | _REASONING else "tool"
        fields = {"content": [value]}
        names = {"content": [value]}
    if role is None:
        return None
    message = ChatMessage(role=role, calls=[], passages=[])
    texts: list[str] = []
    content = next((names[key] for key in _TEXT_KEYS if not is_nothing(names.get(key))), None)
    for part in content if isinstance(content, list) else [content]:
        _add_part(message, texts, part)
    _add_calls(message, names)
    message.text = "\n".join(texts) or None
    if role == "user" and message.passages and not message.text:
        message.role = "tool"  # Anthropic's format lets the user hand over what tools returned
    if role == "tool" and message.text:
        title = to_id(names.get("name")) or to_id(names.get("function"))
        message.passages.append(Passage(text=message.text, title=title, kind="tool_output"))
    elif role == "assistant":
        _add_evidence(message, names)
    return message


def _lower(value: Any) -> str | None:
    return value.lower() if isinstance(value, str) else None


def _add_part(message: ChatMessage, texts: list[str], part: Any) -> None:
    """Add one part of a message: a text, a thought, a tool's call or what it returned."""
    kind = _lower(part.get("type")) if isinstance(part, Mapping) else None
    if isinstance(part, Mapping) and kind in _CALLS:
        message.calls.append(_read_call(part))
    elif isinstance(part, Mapping) and kind in _OUTPUTS:
        text = to_text(part.get("content") or part.get("output") or part.get("response"))
        if text:
            message.passages.append(Passage(text=text, kind="tool_output"))
    elif kind in _REASONING:
        message.reasoning += 1
    elif (text := to_text(part, ("text", "content", "value"))) is not None:
        if message.role == "assistant":
            text, thoughts = strip_reasoning(text)
            message.reasoning += thoughts
        if text.strip() and (kind is None or "text" in kind):
            texts.append(text)


def _add_calls(message: ChatMessage, names: Mapping[str, Any]) -> None:
    for key in ("toolcalls", "toolscalled", "functioncall"):
        calls = parse_cell(names.get(key))
        for call in calls if isinstance(calls, list) else [calls]:
            if isinstance(call, Mapping):
                message.calls.append(_read_call(call))
                output = to_text(call.get("output"))
                if output:
                    title = message.calls[-1].name
                    message.passages.append(Passage(text=output, title=title, kind="tool_output"))
    message.reasoning += sum(
        not is_nothing(names.get(key)) for key in ("reasoningcontent", "reasoning", "thinking")
    )


def _add_evidence(message: ChatMessage, names: Mapping[str, Any]) -> None:
    for key in _CONTEXTS:
        found = read_passages(names.get(key))
        if found:
            message.passages.extend(found)
            return


def read_tool_calls(value: Any) -> tuple[list[ToolCall], list[Passage]]:
    """Return the calls of a list of tools, and what they returned where it is said."""
    message = ChatMessage(role="assistant", calls=[], passages=[])
    _add_calls(message, {"toolcalls": value})
    return message.calls, message.passages


def _read_call(call: Mapping[str, Any]) -> ToolCall:
    inner = call.get("function")
    fields = {**call, **inner} if isinstance(inner, Mapping) else call
    names = {normalise_name(str(name)): part for name, part in fields.items()}
    name = to_id(names.get("name")) or to_id(names.get("toolname")) or to_id(inner) or "tool"
    given = (
        names.get(key) for key in ("arguments", "inputparameters", "args", "input", "parameters")
    )
    arguments = next((one for one in given if not is_nothing(one)), None)
    call_id = to_id(names.get("id")) or to_id(names.get("callid")) or to_id(names.get("toolcallid"))
    text = arguments if isinstance(arguments, str) or arguments is None else to_json(arguments)
    return ToolCall(name=name, arguments=text, call_id=call_id)
