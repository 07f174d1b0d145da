"""Turns a failed conversion into one line that says what was found and what was expected."""

from __future__ import annotations

import difflib
import json
import re
from datetime import date, datetime
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import Meta

from claimwise.errors import Problem
from claimwise.types.rows import Row

_PATH = re.compile(r" - at `\$(?P<path>[^`]*)`\Z")
_QUOTED = re.compile(r"`(?P<name>[^`]+)`")
_STEP = re.compile(r"\.(?P<key>\w+)|\[(?P<index>\d+)\]|\[\.\.\.\]")
_SHOWN = 80

_NAMES = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    datetime: "a time such as 2026-11-15T09:30:00Z",
    date: "a day such as 2026-11-15",
}


class Complaint(Exception):
    """What is wrong with one record: field, found, expected."""

    def __init__(self, field: str | None, found: str, expected: str) -> None:
        super().__init__(f"{field}: found {found}, expected {expected}")
        self.field = field
        self.found = found
        self.expected = expected


def make_problem(path: Path, line: int, complaint: Complaint) -> Problem:
    """Return a complaint with its place."""
    return Problem(
        path=str(path),
        line=line,
        field=complaint.field,
        found=complaint.found,
        expected=complaint.expected,
    )


def holds_nul(value: object) -> bool:
    """Look for a real NUL: the same letters after a backslash are harmless."""
    if isinstance(value, dict):
        return any(holds_nul(key) or holds_nul(part) for key, part in value.items())
    if isinstance(value, list):
        return any(map(holds_nul, value))
    return isinstance(value, str) and "\x00" in value


def explain(row_type: type[Row], record: object, message: str) -> Complaint:
    """Return the complaint behind a message of the converter."""
    if not isinstance(record, dict):
        return Complaint(None, show(record), "a JSON object")
    fields = get_type_hints(row_type, include_extras=True)
    if message.startswith("Object missing required field"):
        name = _quoted(message)
        return Complaint(name, "nothing", describe_type(fields.get(name, str)))
    if message.startswith("Object contains unknown field"):
        return _explain_unknown(_quoted(message), [*row_type.__struct_fields__])
    path = _PATH.search(message)
    if path is None or not path["path"]:
        return Complaint(None, message.removesuffix(" - at `$`"), "fields that fit together")
    name = path["path"].lstrip(".").partition(".")[0].partition("[")[0]
    return Complaint(
        name, show(_look_up(record, path["path"])), describe_type(fields.get(name, str))
    )


def _explain_unknown(name: str, known: list[str]) -> Complaint:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"{close[0]}, perhaps" if close else f"one of {', '.join(known)}"
    return Complaint(name, "an unknown field", hint)


def _quoted(message: str) -> str:
    match = _QUOTED.search(message)
    return match["name"] if match else message


def _look_up(record: object, path: str) -> object:
    for step in _STEP.finditer(path):
        if isinstance(record, dict) and step["key"]:
            record = record.get(step["key"])
        elif isinstance(record, list) and step["index"]:
            record = record[int(step["index"])]
    return record


def show(value: object) -> str:
    """Return a value as JSON, cut to a readable length."""
    if isinstance(value, bytes):
        value = value.decode(errors="replace")
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"


def describe_type(kind: Any) -> str:
    """Return in words what a field takes."""
    if get_origin(kind) is Annotated:
        inner, *notes = get_args(kind)
        limits = [limit for note in notes if isinstance(note, Meta) for limit in _limits(note)]
        return " ".join([describe_type(inner), *limits])
    if get_origin(kind) in (Union, UnionType):
        options = [option for option in get_args(kind) if option is not NoneType]
        return " or ".join([*map(describe_type, options), "null"])
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(str(option) for option in get_args(kind))
    return _NAMES.get(kind, str(kind))


def _limits(note: Meta) -> list[str]:
    found = []
    if note.min_length and note.max_length:
        found.append(f"of {note.min_length} to {note.max_length} characters")
    elif note.min_length:
        found.append("that is not empty")
    if note.pattern:
        found.append("of letters, digits and underscores, not starting with a digit")
    if note.ge is not None and note.le is not None:
        # The upper end of whole numbers is the databases', and no reader's concern.
        found.append(f"from {note.ge:g} to {note.le:g}" if note.le < 10**9 else "(0 or more)")
    return found
