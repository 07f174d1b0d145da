"""Chat messages, in whichever way a model, a framework or a tracer writes them.

OpenAI's chats and responses, Anthropic, Gemini, Bedrock, LangChain, LlamaIndex, Vercel,
pydantic-ai, AutoGen, Haystack, OpenTelemetry's parts and OpenInference's numbered attributes all
come to the same: who speaks, what is said, which tools are called, what they returned.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple

from claimwise.readers.traces.values import (
    Table,
    decode_nested_json,
    find_field_text,
    find_object,
    spread,
    to_json_text,
)
from claimwise.types.traces import ToolCall

Role = Literal["system", "user", "assistant", "tool"]


class ToolResult(NamedTuple):
    """What a tool returned."""

    text: str
    name: str | None = None
    call_id: str | None = None


class Message(NamedTuple):
    """What one speaker said and did at once."""

    role: Role
    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
    reasoning: int = 0


_ROLES: dict[str, Role] = {
    "system": "system", "developer": "system", "systemmessage": "system",
    "gen_ai.system.message": "system", "system_instruction": "system",
    "user": "user", "human": "user", "usermessage": "user", "humanmessage": "user",
    "gen_ai.user.message": "user", "request": "user", "humanmessagechunk": "user",
    "assistant": "assistant", "ai": "assistant", "model": "assistant", "aimessage": "assistant",
    "aimessagechunk": "assistant", "assistantmessage": "assistant", "chatbot": "assistant",
    "gen_ai.choice": "assistant", "gen_ai.assistant.message": "assistant", "response": "assistant",
    "tool-call": "assistant", "bot": "assistant",
    "tool": "tool", "function": "tool", "toolmessage": "tool", "functionmessage": "tool",
    "functionexecutionresultmessage": "tool", "gen_ai.tool.message": "tool", "ipython": "tool",
    "tool-response": "tool", "toolresult": "tool",
}  # fmt: skip
_ROLE_NAMES = ("role", "event.name", "type", "kind", "_role")
_KIND_NAMES = ("type", "part_kind", "block_type", "kind")
_TEXTS = {"text", "input_text", "output_text", "user_prompt", "message", "textblock", "string"}
_REASONING = {"reasoning", "thinking", "redacted_thinking", "reasoning_content", "thought",
              "reasoningcontent", "thinkingblock"}  # fmt: skip
_CALLS = {"tool_call", "tool_use", "function_call", "server_tool_call", "server_tool_use",
          "mcp_call", "custom_tool_call", "tooluse", "functioncall", "toolcall", "function",
          "mcp_tool_use", "builtin_tool_call"}  # fmt: skip
_RESULTS = {"tool_call_response", "server_tool_call_response", "tool_result", "tool_return",
            "function_call_output", "function_response", "tool_call_result", "toolresult",
            "functionresponse", "custom_tool_call_output", "mcp_tool_result",
            "web_search_tool_result", "builtin_tool_return", "functionexecutionresult",
            "retry_prompt"}  # fmt: skip
# One of these around a part says what it is.
_WRAPPERS = (*sorted(_CALLS - {"function"}), "toolUse", "functionCall", "message_content",
             *sorted(_RESULTS), "toolResult", "functionResponse", "reasoningContent",
             "reasoning")  # fmt: skip
_CALL_ID = ("call_id", "tool_call_id", "toolCallId", "tool_use_id", "toolUseId", "id")
_TOOL_NAME = ("name", "tool_name", "toolName")
_ARGUMENTS = ("arguments", "args", "input", "parameters")
_RETURNED = ("response", "result", "output", "content", "outcome", "return_value")
_MESSAGE_LISTS = ("messages", "input_messages", "output_messages", "contents", "choices",
                  "candidates", "generations", "new_message", "message", "chat_history_messages",
                  "output", "input", "content", "kwargs", "data", "items", "replies", "response",
                  "result")  # fmt: skip
# What stands beside the content of a tool's result.
_PROTOCOL = {"content", "isError", "is_error", "structuredContent", "meta", "_meta", "role",
             "status"}  # fmt: skip
_DEEPEST = 6

_LABEL = r"(?:system|developer|user|human|assistant|ai|tool|function|model|System|Human|AI|Tool)"
_DIALOGUE = re.compile(rf"^({_LABEL}): ?", re.MULTILINE)
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_WRITTEN = re.compile(
    rf"\brole=(?:<[^>]*?'(\w+)'>|'(\w+)')[ ,]+content=({_QUOTED}|None)", re.DOTALL
)
_THOUGHTS = re.compile(r"<(think|thinking|reasoning)>.*?</\1>", re.DOTALL)


def read_messages(value: Any, depth: int = 0) -> list[Message]:
    """Return the messages in a value; none where it holds no chat."""
    value = decode_nested_json(value)
    if depth > _DEEPEST:
        return []
    if isinstance(value, str):
        return list(_read_dialogue(value))
    if isinstance(value, list):
        return [message for part in value for message in _read_entry(part, depth)]
    if not isinstance(value, dict):
        return []
    return _read_object(spread(value), depth)


def _read_entry(part: Any, depth: int) -> list[Message]:
    if isinstance(part, str):
        return list(_read_written(part))
    if isinstance(part, list) and len(part) == 2 and all(isinstance(p, str) for p in part):
        role = _ROLES.get(part[0].lower())
        return list(_make_written(role, part[1])) if role else []
    if isinstance(part, list | dict):
        return read_messages(part, depth + 1)
    return []


def _read_object(value: Table, depth: int) -> list[Message]:
    if is_tool_definition(value):
        return []
    message = _read_message(value)
    if message is not None:
        return [message]
    action = _read_action(value)
    if action is not None:
        return [action]
    for name in _MESSAGE_LISTS:
        inner = value.get(name)
        if isinstance(inner, list | dict):
            found = read_messages(inner, depth + 1)
            if found:
                return found
    return []


def is_tool_definition(value: Any) -> bool:
    """Tell whether an object offers a tool instead of calling it."""
    if not isinstance(value, dict):
        return False
    inner = value.get("function")
    return isinstance(inner, dict) and ("parameters" in inner or "description" in inner)


# One message.


def _read_message(value: Table) -> Message | None:
    """Return the message that an object is, if it says who speaks."""
    value = _unwrap(value)
    role = _find_role(value)
    if role is None:
        return None
    parts = _Parts()
    for name in ("content", "contents", "parts", "blocks", "_content", "message", "text"):
        if value.get(name) is not None and not parts.holds_anything:
            parts.take(value[name], as_result=role == "tool")
    if role == "tool":
        return parts.make_results(value)
    more = find_object(value, "additional_kwargs")
    for name in ("tool_calls", "toolCalls", "function_call"):
        parts.take_calls(value.get(name) or more.get(name))
    if any(value.get(name) for name in ("reasoning_content", "reasoning", "thinking")):
        parts.reasoning += 1
    return parts.make_message(role)


def _unwrap(value: Table) -> Table:
    """Return the message inside what choices, OpenInference and LangChain put around it."""
    for name in ("message", "kwargs", "data"):
        inner = decode_nested_json(value.get(name))
        if isinstance(inner, dict) and (
            _find_role(inner) or "content" in inner or "contents" in inner or "parts" in inner
        ):
            return {"role": _find_role(value) or _find_class(value), **inner}
    inner = decode_nested_json(value.get("content"))
    if isinstance(inner, dict) and "parts" in inner:
        return {"role": _find_role(value), **inner}
    return value


def _find_role(value: Table) -> Role | None:
    for name in _ROLE_NAMES:
        found = value.get(name)
        if isinstance(found, str) and found:
            role = _ROLES.get(found.lower()) or _ROLES.get(found.rpartition(".")[2].lower())
            if role and not (name != "role" and _is_part(value)):
                return role
    return None


def _is_part(value: Table) -> bool:
    """Tell parts of messages from messages, which may be told by a “type” as well."""
    return not any(name in value for name in ("content", "parts", "data", "message", "contents"))


def _find_class(value: Table) -> Role | None:
    """Return the role that LangChain's name of the class says."""
    path = value.get("id")
    last = path[-1] if isinstance(path, list) and path else None
    return _ROLES.get(last.lower()) if isinstance(last, str) else None


def _read_action(value: Table) -> Message | None:
    """Return a call or a result that stands alone, as OpenAI's responses and Vercel write them."""
    kind = _find_kind(value)
    if kind in _REASONING:
        return Message("assistant", reasoning=1)
    if kind in _CALLS or ("toolCallId" in value and "toolName" in value):
        parts = _Parts()
        parts.take(value)
        if parts.calls or parts.results:
            return parts.make_message("assistant" if parts.calls else "tool")
    if kind in _RESULTS:
        parts = _Parts()
        parts.take(value)
        return parts.make_message("tool")
    return None


def _find_kind(value: Table) -> str | None:
    for name in _KIND_NAMES:
        found = value.get(name)
        if isinstance(found, str):
            return found.lower().replace("-", "_")
    return None


class _Parts:
    """Gathers the parts of a message: what is said, called, returned, and thought."""

    def __init__(self) -> None:
        self.texts: list[str] = []
        self.calls: list[ToolCall] = []
        self.results: list[ToolResult] = []
        self.reasoning = 0
        self.holds_anything = False

    def take(self, content: Any, *, as_result: bool = False, depth: int = 0) -> None:
        """Take a text, a part or a list of them."""
        content = _decode_parts(content)
        if depth > _DEEPEST:
            return
        if isinstance(content, str):
            self._take_text(content)
        elif isinstance(content, list):
            for part in content:
                self.take(part, depth=depth + 1)
        elif isinstance(content, dict):
            self._take_part(content, depth)
            if as_result and not self.holds_anything and not is_tool_definition(content):
                self._take_text(to_json_text(content) or "")

    def _take_text(self, text: str) -> None:
        if text.strip() and text.strip() != "None":
            self.texts.append(text)
            self.holds_anything = True

    def _take_part(self, part: Table, depth: int) -> None:
        part = spread(part)
        kind = _find_kind(part)
        if kind is None or kind not in _TEXTS | _REASONING | _CALLS | _RESULTS:
            inner = next((name for name in _WRAPPERS if isinstance(part.get(name), dict)), None)
            if inner is not None:
                self._take_part({"type": inner, **part[inner]}, depth + 1)
                return
        if kind in _REASONING or part.get("thought") is True:
            self.reasoning += 1
            self.holds_anything = True
        elif kind in _CALLS or (kind is None and "toolName" in part and "result" not in part):
            self.take_calls([part])
        elif kind in _RESULTS:
            self._take_result(part)
        elif kind != "system_prompt":
            self._take_said(part)

    def _take_said(self, part: Table) -> None:
        text = find_field_text(part, ("text", "content", "message"))
        inner = part.get("message_content")
        self._take_text(
            text or find_field_text(inner if isinstance(inner, dict) else {}, ("text",)) or ""
        )

    def take_calls(self, found: Any) -> None:
        """Take tool calls: a list of them, or one."""
        found = decode_nested_json(found)
        for call in found if isinstance(found, list) else [found]:
            made = read_tool_call(call)
            if made is not None:
                self.calls.append(made)
                self.holds_anything = True

    def _take_result(self, part: Table) -> None:
        self.holds_anything = True
        found = read_result(part)
        if found is not None:
            self.results.append(found)

    def make_message(self, role: Role) -> Message | None:
        """Return the message. One that only carries results is the tool's, whoever hands it on."""
        results = tuple(self.results)
        if results and not self.texts and not self.calls:
            role = "tool"
        text = "\n".join(self.texts)
        return Message(role, text, tuple(self.calls), results, self.reasoning)

    def make_results(self, value: Table) -> Message:
        """Return the message of a tool, whose text is what it returned."""
        results = list(self.results)
        if self.texts:
            call_id, name = (
                find_field_text(value, _CALL_ID[1:-1]),
                find_field_text(value, _TOOL_NAME),
            )
            given = call_id or find_field_text(value, ("id",))
            results.append(ToolResult(unwrap_result("\n".join(self.texts)) or "", name, given))
        return Message("tool", results=tuple(results))


def _decode_parts(content: Any) -> Any:
    """Return parts that were written into a string; another text stays as it is."""
    found = (
        decode_nested_json(content)
        if isinstance(content, str) and content.lstrip()[:2] == "[{"
        else None
    )
    if isinstance(found, list) and all(isinstance(p, dict) and _is_known_part(p) for p in found):
        return found
    return content


def _is_known_part(part: Table) -> bool:
    known = _find_kind(part) in _TEXTS | _REASONING | _CALLS | _RESULTS
    return known or set(part) == {"text"} or any(isinstance(part.get(n), dict) for n in _WRAPPERS)


def read_tool_call(value: Any) -> ToolCall | None:
    """Return a tool call in one of its many shapes."""
    value = decode_nested_json(value)
    if not isinstance(value, dict) or is_tool_definition(value):
        return None
    value = spread(value)
    for name in ("tool_call", "toolUse", "functionCall", "function_call"):
        if isinstance(value.get(name), dict):
            value = {"id": value.get("id"), **value[name]}
    inner = find_object(value, "function")
    tool = find_field_text(inner, _TOOL_NAME) or find_field_text(value, (*_TOOL_NAME, "function"))
    if tool is None:
        return None
    arguments = next(
        (t[key] for t in (inner, value) for key in _ARGUMENTS if t.get(key) is not None), None
    )
    return ToolCall(
        name=tool, arguments=to_json_text(arguments), call_id=find_field_text(value, _CALL_ID)
    )


def read_result(value: Table) -> ToolResult | None:
    """Return what a tool returned, in one of its many shapes; None where it returned nothing."""
    origin = find_object(value, "origin")
    returned = next((value[name] for name in _RETURNED if value.get(name) is not None), None)
    text = unwrap_result(returned)
    if text is None:
        return None
    name = find_field_text(value, _TOOL_NAME) or find_field_text(origin, _TOOL_NAME)
    call_id = find_field_text(value, _CALL_ID) or find_field_text(origin, _CALL_ID)
    return ToolResult(text, name, call_id)


def unwrap_result(value: Any, depth: int = 0) -> str | None:
    """Return the text that a tool returned, without what protocols put around it."""
    found = decode_nested_json(value)
    if isinstance(found, list) and found and all(_is_text_part(part) for part in found):
        return "\n".join(_part_text(part) for part in found) or None
    inner = _find_returned(found) if isinstance(found, dict) and depth < _DEEPEST else None
    if inner is not None:
        return unwrap_result(inner, depth + 1)
    if isinstance(found, list | dict) and not found:
        return None
    return to_json_text(value if isinstance(value, str) and not isinstance(found, str) else found)


def _find_returned(table: Table) -> Any:
    """Return what stands inside the object of a protocol; None for an object of the tool's own."""
    names = set(table)
    if "value" in names and table.get("type") in ("json", "text", "content"):
        return table["value"]
    if table.get("type") == "tool" or names <= _PROTOCOL:
        return table.get("content")
    if names <= {"id", "message"} and isinstance(_decode_parts(table.get("message")), list):
        return table["message"]
    if names <= {"id", "name", "response"} or (len(names) == 1 and names <= {"result", "output"}):
        return table.get("response", table.get("result", table.get("output")))
    return None


def _is_text_part(part: Any) -> bool:
    return isinstance(part, dict) and (
        part.get("type") in ("text", "output_text") or set(part) == {"text"}
    ) and isinstance(part.get("text"), str)  # fmt: skip


def _part_text(part: Table) -> str:
    return str(part["text"])


# Chats written as text.


def _read_dialogue(text: str) -> Iterator[Message]:
    """Read “user: …”, “assistant: …” from a text that begins like that."""
    if not _DIALOGUE.match(text):
        yield from _read_written(text)
        return
    labels = list(_DIALOGUE.finditer(text))
    ends = [label.start() for label in labels[1:]] + [len(text)]
    roles = [_ROLES[label[1].lower()] for label in labels]
    if "user" not in roles and labels[0][1] != "assistant":
        return  # “System: Linux” is no chat
    for label, role, end in zip(labels, roles, ends, strict=True):
        said = text[label.end() : end].strip()
        yield from _make_written(role, "" if said == "None" else said)


def _read_written(text: str) -> Iterator[Message]:
    """Read messages that Python wrote for people: ``role='user' content='…'``."""
    for found in _WRITTEN.finditer(text):
        role = _ROLES.get((found[1] or found[2]).lower())
        if role:
            yield from _make_written(role, _unquote(found[3]))


def _unquote(text: str) -> str:
    try:
        return str(ast.literal_eval(text) or "")
    except (ValueError, SyntaxError):
        return text[1:-1]


def _make_written(role: Role, text: str) -> Iterator[Message]:
    if role == "tool":
        yield Message("tool", results=(ToolResult(text),) if text else ())
    else:
        yield Message(role, text)


# What is said at the end.

# Tools whose argument is the answer: agents that must answer in a form call one.
ANSWERING_TOOLS = ("final_answer", "final_result", "final_output")
_FINAL = re.compile(r"^\s*(?:\*\*)?Final Answer:(?:\*\*)?[ \t]*\n?", re.MULTILINE)
_TEXT_ACTION = re.compile(r"^Action(?: Input)?:", re.MULTILINE)


class VisibleText(NamedTuple):
    """An answer's text without the thoughts in it, and how many of these there were."""

    text: str
    reasoning: int


def strip_thoughts(text: str, *, asked_for_final: bool = False) -> VisibleText:
    """Take out what a model thought aloud: ``<think>…</think>``, and what leads to “Final Answer:”.

    The latter only where the convention is in use: the prompt asked for it, or there are a
    “Thought:” or an “Action:” too. A text that ends in an “Action:” says nothing yet.
    """
    cleaned, count = _THOUGHTS.subn("", text)
    final = list(_FINAL.finditer(cleaned))
    before = cleaned[: final[-1].start()] if final else ""
    if final and (asked_for_final or "Thought:" in before or _TEXT_ACTION.search(before)):
        return VisibleText(cleaned[final[-1].end() :].strip(), count + bool(before.strip()))
    if "Thought:" in cleaned and _TEXT_ACTION.search(cleaned):
        return VisibleText("", count + 1)
    return VisibleText(cleaned.strip() if count else cleaned, count)


def find_final_call(calls: Sequence[ToolCall]) -> str | None:
    """Return the answer that is handed over as a tool's argument."""
    for call in calls:
        if call.name in ANSWERING_TOOLS and call.arguments:
            found = decode_nested_json(call.arguments)
            if isinstance(found, dict) and len(found) == 1:
                return to_json_text(next(iter(found.values())))
            return call.arguments
    return None
