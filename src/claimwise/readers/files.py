"""Opens files and yields their records as they stand: lines of JSON, or mappings.

Every reader gives the line that a person would look up in an editor. Files may be compressed
(``.gz``, ``.xz``). A line has a limit, and so has what a compressed file unpacks to: a small file
can't fill the memory or the disk.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from claimwise.disk.input import open_input, refuse, show_size

MAX_LINE_BYTES = 32 * 1024 * 1024
MAX_UNPACKED_BYTES = 4 * 1024**3  # of what is read row by row
MAX_LOADED_BYTES = 512 * 1024 * 1024  # of what is kept in memory as a whole
FORMATS = ("jsonl", "csv", "parquet", "arrow")
_OTHER_ENDINGS = {"ndjson": "jsonl", "json": "jsonl", "feather": "arrow"}
_COMPRESSIONS = (".gz", ".xz")


def guess_format(path: Path) -> str | None:
    """Return the format that a file's name promises, if it is one of ours."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    ending = suffixes[-1].removeprefix(".") if suffixes else ""
    ending = _OTHER_ENDINGS.get(ending, ending)
    return ending if ending in FORMATS else None


def find_format(path: Path) -> str:
    """Return the format that a file's name promises.

    Raises:
        InputError: the name has another ending.
    """
    form = guess_format(path)
    if form:
        return form
    ending = path.suffix.removeprefix(".")
    raise refuse(
        path, f"the ending {ending!r}", ".jsonl, .csv, .parquet or .arrow (.gz and .xz may follow)"
    )


@contextmanager
def open_file(path: Path) -> Iterator[BinaryIO]:
    """Open a file for reading, unpacking it when its name says so."""
    with open_input(path) as file:
        if path.suffix.lower() == ".gz":
            with gzip.open(file, "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        elif path.suffix.lower() == ".xz":
            with lzma.open(file, "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            yield file


def read_lines(
    path: Path, *, blank: bool = False, most: int = MAX_UNPACKED_BYTES
) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of a file's lines, line breaks included.

    Args:
        path: the file, compressed or not.
        blank: whether to yield blank lines.
        most: how many bytes a compressed file may unpack to, or a pipe may carry.

    Raises:
        InputError: it can't be read, is damaged, or a line or the whole is too long.
    """
    with open_file(path) as file:
        number = unpacked = 0
        bounded = path.suffix.lower() not in _COMPRESSIONS and path.is_file()
        while data := _read_line(file, path, number + 1):
            number += 1
            unpacked += len(data)
            if unpacked > most and not bounded:
                size = show_size(most)
                raise refuse(path, f"over {size} of text", f"at most {size}: split it", line=number)
            if number == 1:
                data = data.removeprefix(b"\xef\xbb\xbf")
            if blank or not data.isspace():
                yield number, data


def _read_line(file: BinaryIO, path: Path, number: int) -> bytes:
    try:
        data = file.readline(MAX_LINE_BYTES + 1)
    except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
        found = f"a damaged or cut-off file ({error})"
        raise refuse(path, found, "a complete file", line=number) from error
    if len(data) > MAX_LINE_BYTES:
        found = f"a line of over {show_size(MAX_LINE_BYTES)}"
        raise refuse(path, found, "one record per line", line=number)
    return data


def read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line where each row of a CSV file begins, and its cells by the header's names."""
    header: list[str] | None = None
    for line, row in read_cells(path):
        if header is None:
            header = _check_header(path, row)
        elif len(row) != len(header):
            expected = f"{len(header)} fields, as in the header"
            raise refuse(path, f"{len(row)} fields", expected, line=line)
        else:
            yield line, dict(zip(header, row, strict=True))


def read_cells(
    path: Path,
    lines: Iterator[tuple[int, bytes]] | None = None,
    *,
    delimiter: str = ",",
    strict: bool = True,
) -> Iterator[tuple[int, list[str]]]:
    """Yield the line where each row of a CSV file begins, and its cells; blank rows are none.

    Args:
        path: the file.
        lines: its lines with their numbers, where somebody has begun to read it.
        delimiter: what stands between two cells.
        strict: whether a quotation mark in the wrong place is refused.
    """
    csv.field_size_limit(MAX_LINE_BYTES)
    last = 0

    def decode_lines() -> Iterator[str]:
        nonlocal last
        for last, data in read_lines(path, blank=True) if lines is None else lines:
            try:
                yield data.decode()
            except UnicodeDecodeError as error:
                found = f"the byte 0x{data[error.start]:02x} at position {error.start + 1}"
                raise refuse(path, found, "UTF-8 text", line=last) from error

    reader = csv.reader(decode_lines(), strict=strict, delimiter=delimiter)
    while True:
        first = last + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise refuse(path, str(error), "comma-separated values", line=first) from error
        if row is None:
            return
        if row:
            yield first, row


def _check_header(path: Path, header: list[str]) -> list[str]:
    seen: set[str] = set()
    for name in header:
        if name in seen:
            raise refuse(path, f"the column {name!r} twice", "each column once", line=1)
        seen.add(name)
    return header
