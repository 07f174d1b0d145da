"""Tells a file's form and its names from its first bytes, which may end anywhere."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

import msgspec

from claimwise.readers.arrow_messages import is_arrow
from claimwise.readers.evalfiles.workbooks import is_workbook

Form = Literal["json", "csv", "parquet", "arrow", "workbook", "zip", "unknown"]

DELIMITERS = (",", "\t", ";", "|")
_TOKEN = re.compile(r'"(?P<text>[^"\\]*(?:\\.[^"\\]*)*)"(?P<colon>\s*:)?|[{}\[\]]|\n', re.DOTALL)
_MOST_DEPTH = 12
_PRINTABLE = re.compile(r"[^\x00-\x08\x0e-\x1f]*\Z")


class Sketch(msgspec.Struct, frozen=True):
    """What the first bytes say: the form, and where names stand.

    ``names`` holds the paths of JSON's keys, lists as ``[]``: ``results[].vars``; of a CSV file
    its header. The records of JSON Lines look like a single object.
    """

    form: Form
    names: frozenset[str] = frozenset()
    header: tuple[str, ...] = ()
    delimiter: str = ","

    def has(self, *paths: str) -> bool:
        """Return whether all of these paths are there."""
        return self.names.issuperset(paths)


@lru_cache(maxsize=4)
def sketch_head(head: bytes) -> Sketch:
    """Return what a file's first bytes say of it."""
    if head.startswith(b"PAR1"):
        return Sketch("parquet")
    if is_arrow(head):
        return Sketch("arrow")
    if is_workbook(head):
        return Sketch("workbook")
    if head.startswith(b"PK\x03\x04"):
        return Sketch("zip")
    text = head.decode("utf-8-sig", errors="ignore")
    if text.lstrip()[:1] in ("{", "["):
        return Sketch("json", frozenset(_list_paths(text)))
    header, delimiter = find_header(text)
    if len(header) < 2 or not _PRINTABLE.match(text):
        return Sketch("unknown")
    return Sketch("csv", frozenset(header), tuple(header), delimiter)


def find_header(text: str) -> tuple[list[str], str]:
    """Return the names in the first line of a table, and what stands between them.

    The delimiter is the one that makes most columns of the first line.
    """
    found: list[tuple[int, str, list[str]]] = []
    for delimiter in DELIMITERS:
        try:
            row = next(csv.reader(text.lstrip("\n\r").splitlines(True), delimiter=delimiter), [])
        except csv.Error:
            continue
        found.append((len(row), delimiter, row))
    _, delimiter, row = max(found, key=lambda one: one[0], default=(0, ",", []))
    return [name.strip() for name in row], delimiter


def _list_paths(text: str) -> Iterator[str]:
    """Yield the path of every key; a line that starts over with ``{`` is another record."""
    stack: list[tuple[str, str]] = []  # brackets, and the path of what they hold
    key = ""
    for token in _TOKEN.finditer(text):
        sign = token[0]
        if sign in ("{", "["):
            above = stack[-1][1] if stack else ""
            if len(stack) < _MOST_DEPTH:  # else paths would grow with every bracket
                above = f"{above}.{key}".strip(".") if key else above
                above += "[]" if sign == "[" else ""
            stack.append((sign, above))
            key = ""
        elif sign in ("}", "]"):
            if stack:
                stack.pop()
            key = ""
        elif token["colon"] is not None and stack and stack[-1][0] == "{":
            key = token["text"]
            if len(stack) <= _MOST_DEPTH:
                yield f"{stack[-1][1]}.{key}".strip(".")
        elif sign != "\n":
            key = ""
