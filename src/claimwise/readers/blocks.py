"""Reads the rows of a large file part by part, as several processes do that share it.

Only what is plain is read: JSON Lines of one type of row, each line right by itself. Of anything
else None comes, and the usual reader finds out what it is and where.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import msgspec

from claimwise.disk.input import open_input
from claimwise.readers.files import MAX_LINE_BYTES, guess_format
from claimwise.readers.read import decode_lines, find_kind
from claimwise.types.rows import Row

_BLOCK_BYTES = 4 << 20


class Span(NamedTuple):
    """A part of a file, whole lines: where it begins, and where the next one does."""

    start: int
    end: int


def find_plain_type(path: Path, kind: str | None) -> type[Row] | None:
    """Return the type of row of a file that can be read in parts; None where it can't.

    Args:
        path: the file.
        kind: what it holds, if its name does not say it.
    """
    plain = path.suffix.lower() in (".jsonl", ".ndjson", ".json") and path.is_file()
    if not plain or guess_format(path) != "jsonl":
        return None
    return find_kind(path, kind)


def cut_file(path: Path, parts: int) -> list[Span]:
    """Return about equal parts of a file of lines."""
    with open_input(path) as file:
        size = file.seek(0, 2)
        cuts = [0]
        for number in range(1, parts):
            file.seek(max(number * size // parts, cuts[-1]))
            file.readline(MAX_LINE_BYTES)
            cuts.append(file.tell())
    cuts.append(size)
    return [Span(*span) for span in pairwise(cuts) if span[0] < span[1]]


def read_span(path: Path, row_type: type[Row], span: Span) -> Iterator[list[Row] | None]:
    """Yield the rows of one part in blocks; None, and no more, where something is not plain."""
    decoder = msgspec.json.Decoder(row_type)
    with open_input(path) as file:
        file.seek(span.start)
        while (left := span.end - file.tell()) > 0:
            data = file.read(min(_BLOCK_BYTES, left))
            if not data.endswith(b"\n"):
                data += file.readline(MAX_LINE_BYTES)
            rows = decode_lines(decoder, data)
            yield rows
            if rows is None:
                return
