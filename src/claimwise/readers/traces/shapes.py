"""What a file's beginning shows of its shape: which fields stand where.

Formats are told by it, so the name of a file says nothing. The beginning of a long JSON document
is cut off somewhere, so it is walked token by token, not decoded.
"""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from claimwise.disk.input import open_input
from claimwise.errors import InputError

_TOKEN = re.compile(rb'"((?:[^"\\]|\\.)*+)"(\s*:)?|[{}\[\],]', re.DOTALL)
_DEEPEST = 5
_FOOTER_BYTES = 1 << 18
_PARQUET = b"PAR1"


class Shape(NamedTuple):
    """The paths of fields (``trace/id``; lists leave no mark), or the names of columns."""

    paths: frozenset[str]
    footer: bytes = b""

    def has(self, *paths: str) -> bool:
        """Tell whether all of these fields or columns are there."""
        return all(p in self.paths or (self.footer and p.encode() in self.footer) for p in paths)

    def has_any(self, *paths: str) -> bool:
        """Tell whether one of these is there."""
        return any(self.has(path) for path in paths)

    def ends_with(self, ending: str) -> bool:
        """Tell whether a path ends so, wherever it stands."""
        return any(path == ending or path.endswith(f"/{ending}") for path in self.paths)


def sketch(path: Path, head: bytes) -> Shape:
    """Return the shape of a file by its first bytes, and by its last ones for Parquet."""
    head = head.removeprefix(b"\xef\xbb\xbf")
    if head.startswith(_PARQUET):
        return Shape(frozenset(), _read_footer(path))
    if head.lstrip()[:1] in (b"{", b"["):
        return Shape(frozenset(_walk(head)))
    return Shape(frozenset(_read_header(head)))


def _read_footer(path: Path) -> bytes:
    """Return the end of a Parquet file, where its columns are named."""
    try:
        with open_input(path) as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(max(0, size - _FOOTER_BYTES))
            return file.read(_FOOTER_BYTES)
    except (InputError, OSError):
        return b""


def _read_header(head: bytes) -> list[str]:
    """Return the columns of CSV; nothing where the first line is none of its."""
    line = head.partition(b"\n")[0].decode(errors="replace").rstrip("\r")
    if "," not in line or "\x00" in line:
        return []
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def _walk(head: bytes) -> set[str]:
    """Return the paths of all fields that are not too deep; linear, whatever the text."""
    found: set[str] = set()
    steps: list[str] = []
    opened: list[bool] = []  # for each bracket that is open: whether a field's name led to it
    named = False
    for token in _TOKEN.finditer(head):
        first = token[0][:1]
        if first == b'"':
            if token[2] is not None:
                if named:
                    steps.pop()
                steps.append(token[1].decode(errors="replace") if len(token[1]) < 200 else "…")
                named = True
                if len(steps) <= _DEEPEST:
                    found.add("/".join(steps))
            continue
        if first in (b"{", b"["):
            opened.append(named)
            named = False
        elif first == b"," or not opened:
            if named:
                steps.pop()
            named = False
        else:
            if named:
                steps.pop()
            named = opened.pop()
    return found
