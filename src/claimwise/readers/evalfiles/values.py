"""Reads one value of a record: a text, a moment, yes or no; whatever stands for nothing is None."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from claimwise.readers.evalfiles.literals import parse_literal

# “None” and “N/A” are answers that a system may give; these are what pandas writes for no value.
_NOTHING = frozenset({"", "nan", "<na>", "nat"})
_TRUTHS = {"true": True, "yes": True, "y": True, "1": True, "1.0": True, "answerable": True,
           "false": False, "no": False, "n": False, "0": False, "0.0": False,
           "unanswerable": False}  # fmt: skip
_NUMBER = re.compile(r"-?(\d+\.\d*|\.\d+|\d+(\.\d*)?e[-+]?\d+|inf|nan)\Z", re.IGNORECASE)
_CAMEL = re.compile(r"[^a-z0-9]+")
# In the order in which they are looked for in an object that stands for a text.
TEXT_KEYS = ("text", "content", "pagecontent", "output", "answer", "response", "completion",
             "value", "message", "result", "generatedtext")  # fmt: skip
_THINKING = re.compile(r"\s*<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL)
_MOST_DIGITS = 25


def normalise_name(name: str) -> str:
    """Return a column's name without case and separators: ``actualOutput`` → ``actualoutput``."""
    return _CAMEL.sub("", name.lower())


def is_nothing(value: Any) -> bool:
    """Return whether a value says nothing: null, NaN, an empty cell."""
    if isinstance(value, float):
        return math.isnan(value)
    if isinstance(value, str):
        return value.strip().lower() in _NOTHING
    return value is None


def parse_cell(value: Any) -> Any:
    """Return what a text holds that writes out a list or an object; other values as they are."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{", "a", "D", "N"):
        return value
    if value.lstrip()[:1] in ("[", "{"):
        try:
            found = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            found = parse_literal(value)
    else:
        found = parse_literal(value)
    return value if found is None else found


def to_text(value: Any, keys: Sequence[str] = TEXT_KEYS) -> str | None:
    """Return a value as the text that a person would read; None where it says nothing.

    Of an object the field that is known to hold the text is taken, else the object as JSON; of a
    list its parts, a line each.
    """
    if is_nothing(value):
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, Mapping):
        return _object_to_text(value, keys)
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return "\n".join(filter(None, (to_text(part, keys) for part in value))) or None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)


def _object_to_text(value: Mapping[str, Any], keys: Sequence[str]) -> str | None:
    choices = value.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], Mapping):
        return to_text(choices[0].get("message") or choices[0].get("text"), keys)
    by_name = {normalise_name(str(name)): part for name, part in value.items()}
    for key in keys:
        found = to_text(by_name.get(key), keys)
        if found:
            return found
    return to_json(value) if value else None


def to_json(value: Any) -> str:
    """Return a value as JSON on one line, letters as they are."""
    return json.dumps(value, ensure_ascii=False, default=str)


def to_id(value: Any) -> str | None:
    """Return an id, which is a text or a whole number."""
    if isinstance(value, bool) or is_nothing(value) or not isinstance(value, str | int | float):
        return None
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() else None
    return str(value).strip()


def to_truth(value: Any) -> bool | None:
    """Return yes or no, as files write them."""
    if isinstance(value, bool):
        return value
    return _TRUTHS.get(str(value).strip().lower()) if isinstance(value, str | int | float) else None


def to_time(value: Any) -> datetime | None:
    """Return a moment: ISO 8601, or seconds (or their thousandths…) since 1970."""
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if is_nothing(value) or isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    text = str(value).strip()
    try:
        if isinstance(value, int | float) or (text.isdigit() and len(text) <= _MOST_DIGITS):
            seconds = float(text)
            while 10**11 < seconds < math.inf:  # beyond the year 5000: a smaller unit was meant
                seconds /= 1000
            return datetime.fromtimestamp(seconds, UTC) if seconds > 10**8 else None
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError, OSError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def is_score(value: Any) -> bool:
    """Return whether a value is a number with a fraction, as a metric's is."""
    return isinstance(value, float) or (isinstance(value, str) and bool(_NUMBER.match(value)))


def strip_reasoning(text: str) -> tuple[str, int]:
    """Return an answer without the thoughts that stand before it in tags, and their number."""
    found = 0
    while match := _THINKING.match(text):
        text, found = text[match.end() :], found + 1
    return text, found


def has_letters(text: str | None) -> bool:
    """Return whether a text has a letter or a digit: ``{...}`` stands for something left out."""
    return text is not None and any(map(str.isalnum, text))
