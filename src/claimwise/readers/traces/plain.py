"""Questions and answers that are no chat: a text, or an object with a field that is one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from claimwise.readers.traces.documents import looks_like_documents
from claimwise.readers.traces.messages import is_tool_definition
from claimwise.readers.traces.values import Table, decode_nested_json, to_json_text

_QUESTION = ("question", "query", "user_input", "user_query", "user_message", "user_prompt",
             "user_msg", "query_str", "query_bundle", "str_or_query_bundle", "input", "inputs",
             "prompt", "task", "request", "message", "text", "user", "input_text", "new_message",
             "content", "topic", "args", "kwargs", "chat_input", "human_input", "instruction",
             "arguments")  # fmt: skip
_ANSWER = ("answer", "answer_text", "final_answer", "final_output", "final_result", "response",
           "actual_output", "actualOutput", "output", "outputs", "result", "raw", "completion",
           "text", "content", "generated_text", "output_text", "message", "response_text",
           "reply", "replies", "return_values", "value", "llm", "generation")  # fmt: skip
# In a pipeline's input each part has an object of its own: these names say enough in any.
_SURE_QUESTION = ("question", "query", "user_input", "user_query", "query_str")
# Where an object has one of these beside a chat, it is the answer, and the chat its history.
_SURE_ANSWER = ("answer", "final_answer", "final_output", "final_result", "answer_text")
_DEEPEST = 6


def find_question(value: Any, *, sure: bool = True) -> str | None:
    """Return the question in a value that is no chat.

    A text is one; in an object, a field with a known name. Where ``sure`` is False, the only field
    of an object will do, or all of its short ones.
    """
    found = _find(value, _QUESTION, 0) or _find_within(value)
    return found or (None if sure else _find_anything(value))


def _find_within(value: Any) -> str | None:
    value = decode_nested_json(value)
    parts = value.values() if isinstance(value, dict) else ()
    tables = [part for part in parts if isinstance(part, dict)]
    found = (_find(table.get(name), _QUESTION, 1) for table in tables for name in _SURE_QUESTION)
    return next((text for text in found if text), None)


def find_answer_text(value: Any, *, sure: bool = True) -> str | None:
    """Return the answer in a value that is no chat: a text, or a field with a known name.

    Where ``sure`` is False, any object will do, as JSON: a model may have been asked for one.
    """
    found = decode_nested_json(value)
    if looks_like_documents(found) or is_tool_definition(found):
        return None
    text = _find(found, _ANSWER, 0)
    if text is not None or sure:
        return text
    if isinstance(value, str) and isinstance(found, dict | list):
        return value if found else None  # JSON was asked for, and is the answer
    return to_json_text(found)


def find_named_answer(value: Any) -> str | None:
    """Return the answer of an object that names it so; None for anything else."""
    found = decode_nested_json(value)
    if not isinstance(found, dict):
        return None
    return next(
        (text for name in _SURE_ANSWER if (text := _find(found.get(name), _ANSWER, 1))), None
    )


def _find(value: Any, names: Sequence[str], depth: int) -> str | None:
    value = decode_nested_json(value)
    if isinstance(value, str):
        return value if value.strip() else None
    if depth > _DEEPEST:
        return None
    if isinstance(value, list):
        return _find_in_list(value, names, depth)
    if not isinstance(value, dict):
        return None
    found = (_find(value[name], names, depth + 1) for name in names if value.get(name) is not None)
    return next((text for text in found if text), None)


def _find_in_list(parts: Sequence[Any], names: Sequence[str], depth: int) -> str | None:
    """Return the only text of a list, or its texts in lines, where it has nothing but texts."""
    if len(parts) == 1:
        return _find(parts[0], names, depth + 1)
    texts = [part for part in parts if isinstance(part, str) and part.strip()]
    if texts and len(texts) == len(parts):
        return "\n".join(texts)
    parted = [_find_part_text(part) for part in parts]
    return "\n".join(filter(None, parted)) or None if parts and all(parted) else None


def _find_part_text(part: Any) -> str | None:
    if isinstance(part, dict) and part.get("type") in ("text", "output_text", "input_text"):
        return to_json_text(part.get("text") or part.get("content"))
    return None


def _find_anything(value: Any) -> str | None:
    value = decode_nested_json(value)
    if not isinstance(value, dict) or not value:
        return None
    if len(value) == 1:
        inner = next(iter(value.values()))
        return _find_anything(inner) if isinstance(inner, dict) else to_json_text(inner)
    return _write_fields(value)


def _write_fields(table: Table) -> str | None:
    """Return the plain fields of an object, one per line."""
    plain = {k: v for k, v in table.items() if isinstance(v, str | int | float) and str(v).strip()}
    return "\n".join(f"{name}: {value}" for name, value in plain.items()) or None
