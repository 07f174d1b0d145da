"""Values of foreign files as plain text: JSON inside strings, wrappers, moments."""

from __future__ import annotations

import ast
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from claimwise.readers.json_keys import find_repeated_key

Table = Mapping[str, Any]

_LAYERS = 3  # JSON in a string in a string: Langfuse does it
_LONGEST_LITERAL = 1_000_000
_BEYOND_YEAR_5000 = 10**11


def decode_nested_json(value: Any) -> Any:
    """Return what a string of JSON holds, also where it is a string of JSON again.

    Other texts come back as they are, and so does JSON with a key twice: nobody can say what is
    meant. Lists and objects written by Python (``[{'a': 1}]``) are read as well.
    """
    for _ in range(_LAYERS):
        if not isinstance(value, str):
            break
        start = value.lstrip()[:2]
        if start[:1] not in ("{", "[", '"'):
            break
        found = _decode_once(value)
        if found is None:
            return _read_literal(value) if start[:1] in "{[" else value
        value = found
    return value


def _decode_once(text: str) -> Any:
    try:
        found = msgspec.json.decode(text)
        return found if find_repeated_key(text.encode()) is None else None
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return None


def _read_literal(text: str) -> Any:
    """Return a list or dict that Python wrote; only literals are read, nothing is run."""
    if len(text) > _LONGEST_LITERAL or "'" not in text:
        return text
    try:
        return ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return text


def to_json_text(value: Any) -> str | None:
    """Return a value as text: its own, or its JSON; None where there is nothing in it."""
    if isinstance(value, str):
        return value if value.strip() else None
    if value is None or (isinstance(value, list | dict | tuple) and not value):
        return None
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return json.dumps(value, ensure_ascii=False, default=str)


def find_field_text(table: Table, names: Iterable[str]) -> str | None:
    """Return the first field that is a plain text or number."""
    for name in names:
        value = table.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
    return None


def find_object(table: Table, name: str) -> Table:
    """Return a field that holds an object, also as JSON text; else an empty one."""
    found = decode_nested_json(table.get(name))
    return found if isinstance(found, dict) else {}


def find_list(table: Table, name: str) -> Sequence[Any]:
    """Return a field that holds a list; else an empty one."""
    found = table.get(name)
    return found if isinstance(found, list) else []


def read_time(value: Any) -> datetime | None:
    """Return a moment: ISO 8601, or seconds (or their thousandths…) since 1970; None if neither."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if value is None or isinstance(value, bool):
        return None
    try:
        if isinstance(value, int | float) or str(value).isdigit():
            seconds = float(value)
            while _BEYOND_YEAR_5000 < seconds < math.inf:
                seconds /= 1000  # a smaller unit was meant
            return datetime.fromtimestamp(seconds, UTC)
        found = msgspec.convert(str(value), datetime)
    except (msgspec.ValidationError, OverflowError, OSError, ValueError):
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def put_deep(tree: dict[str, Any], steps: Sequence[str], value: Any) -> None:
    """Put a value into objects in objects, unless something else is in the way."""
    for step in steps[:-1]:
        inner = tree.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        tree = inner
    tree.setdefault(steps[-1], value)


def spread(table: Table) -> Table:
    """Return an object without dotted names: ``{"message.role": "user"}`` is an object in one."""
    if not any("." in str(key) for key in table):
        return table
    tree: dict[str, Any] = {}
    for key, inner in table.items():
        put_deep(tree, str(key).split("."), inner)
    # The names of events have dots and are no path.
    return {**tree, "event.name": table["event.name"]} if "event.name" in table else tree
