"""What a file's beginning shows of its shape: which fields stand where.

Formats are told by it, so the name of a file says nothing.
"""

from __future__ import annotations

import io
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from claimwise.disk.input import open_input
from claimwise.errors import InputError
from claimwise.readers.evalfiles.sketch import sketch_head

_FOOTER_BYTES = 1 << 18


class Shape(NamedTuple):
    """The paths of fields (``trace.id``; lists leave no mark), or the names of columns."""

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
        return any(path == ending or path.endswith(f".{ending}") for path in self.paths)


def sketch(path: Path, head: bytes) -> Shape:
    """Return the shape of a file by its first bytes, and by its last ones for Parquet."""
    found = sketch_head(head)
    if found.form == "parquet":
        return Shape(frozenset(), _read_footer(path))
    return _forget_lists(found.names)


@lru_cache(maxsize=4)
def _forget_lists(names: frozenset[str]) -> Shape:
    return Shape(frozenset(name.replace("[]", "").removeprefix(".") for name in names))


def _read_footer(path: Path) -> bytes:
    """Return the end of a Parquet file, where its columns are named."""
    try:
        with open_input(path) as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(max(0, size - _FOOTER_BYTES))
            return file.read(_FOOTER_BYTES)
    except (InputError, OSError):
        return b""
