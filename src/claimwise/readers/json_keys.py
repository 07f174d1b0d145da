"""Finds a key that a JSON object has twice: which of the two is meant, nobody can say.

Decoders take the last one and say nothing, so a second ``"verdict"`` would change a label unseen.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec

# Texts, which are keys when a colon follows, and the ends of objects.
_TOKEN = re.compile(r'("[^"\\]*(?:\\.[^"\\]*)*")(\s*:)?|[{}]', re.DOTALL)


class RepeatedKey(NamedTuple):
    """A key that its object has had before, and the line of the text where it stands again."""

    name: str
    line: int


class _RepeatedError(Exception):
    """Ends the search at the first one."""


def find_repeated_key(data: bytes) -> RepeatedKey | None:
    """Return the first key that an object has twice, if one has.

    Args:
        data: valid JSON, as UTF-8.

    Raises:
        RecursionError: it is nested too deeply.
    """
    if _is_flat_without_repeats(data):
        return None
    text = data.decode()
    try:
        _DECODER.decode(text)
    except _RepeatedError:
        return _locate_repeated_key(text)
    return None


def _is_flat_without_repeats(data: bytes) -> bool:
    """Tell it fast of what most lines are: an object with no other in it; False says nothing.

    Without spaces every key ends in ``":``. So where as many of these are found as the object has
    different keys, each is one of those keys, and none comes twice.
    """
    try:
        return len(_FIELDS.decode(data)) == data.translate(None, b" \t\r\n").count(b'":')
    except msgspec.DecodeError:
        return False


def lines_repeat_no_key(data: bytes) -> bool:
    """Tell of many lines at once that each is a flat object without repeats; False says nothing."""
    try:
        keys = sum(map(len, _FIELDS.decode_lines(data)))
    except msgspec.DecodeError:
        return False
    # No line has fewer marks than keys: where the sums are equal, so is each line.
    return keys == data.translate(None, b" \t\r\n").count(b'":')


def _check_keys(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise _RepeatedError


def _skip_number(digits: str) -> None:
    """Leave numbers alone: Python refuses whole ones of 5000 digits."""


_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_DECODER = json.JSONDecoder(
    object_pairs_hook=_check_keys,
    parse_int=_skip_number,
    parse_float=_skip_number,
    strict=False,
)


def _locate_repeated_key(text: str) -> RepeatedKey | None:
    """Find the place by hand: the decoder does not tell it."""
    open_objects: list[set[str]] = []
    for token in _TOKEN.finditer(text):
        if token[0] == "{":
            open_objects.append(set())
        elif token[0] == "}":
            open_objects.pop()
        elif token[2] is not None:
            name = json.loads(token[1], strict=False)
            if name in open_objects[-1]:
                return RepeatedKey(name, text.count("\n", 0, token.start()) + 1)
            open_objects[-1].add(name)
    return None
