"""Opens files and yields their records as they stand: lines of JSON, or mappings.

Every reader gives the line that a person would look up in an editor. Files may be compressed
(``.gz``, ``.xz``). A line has a limit, so a wrong file can't fill the memory.
"""

from __future__ import annotations

import csv
import gzip
import lzma
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, cast

from claimwise.errors import InputError, MissingExtraError, Problem

MAX_LINE_BYTES = 32 * 1024 * 1024
FORMATS = ("jsonl", "csv", "parquet")
_COMPRESSIONS = (".gz", ".xz")
_PAGE = 10_000


def guess_format(path: Path) -> str | None:
    """Return the format that a file's name promises, if it is one of ours."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    ending = suffixes[-1].removeprefix(".") if suffixes else ""
    ending = {"ndjson": "jsonl", "json": "jsonl"}.get(ending, ending)
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
        path, f"the ending {ending!r}", ".jsonl, .csv or .parquet (.gz and .xz may follow)"
    )


def refuse(path: Path, found: str, expected: str, *, line: int | None = None) -> InputError:
    """Return the error for a file that can't be read at all."""
    problem = Problem(path=str(path), line=line, field=None, found=found, expected=expected)
    return InputError([problem])


def open_file(path: Path) -> BinaryIO:
    """Open a file for reading, unpacking it when its name says so."""
    try:
        if path.is_dir():
            raise refuse(path, "a folder", "a file (FOLDER/*.jsonl names all files in it)")
        if path.suffix.lower() == ".gz":
            return cast(BinaryIO, gzip.open(path, "rb"))
        if path.suffix.lower() == ".xz":
            return cast(BinaryIO, lzma.open(path, "rb"))
        return path.open("rb")
    except OSError as error:
        raise refuse(path, error.strerror or str(error), "a file that can be read") from error


def read_lines(path: Path, *, blank: bool = False) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of a file's lines, line breaks included; blank ones when asked."""
    with open_file(path) as file:
        number = 0
        while True:
            try:
                data = file.readline(MAX_LINE_BYTES + 1)
            except (EOFError, lzma.LZMAError, zlib.error, OSError) as error:
                raise refuse(
                    path, f"a damaged or cut-off file ({error})", "a complete file", line=number + 1
                ) from error
            if not data:
                return
            number += 1
            if len(data) > MAX_LINE_BYTES:
                limit = MAX_LINE_BYTES // (1024 * 1024)
                raise refuse(path, f"a line of over {limit} MB", "one record per line", line=number)
            if number == 1:
                data = data.removeprefix(b"\xef\xbb\xbf")
            if blank or not data.isspace():
                yield number, data


def read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield the line where each row of a CSV file begins, and its cells by the header's names."""
    csv.field_size_limit(MAX_LINE_BYTES)
    last = 0

    def lines() -> Iterator[str]:
        nonlocal last
        for last, data in read_lines(path, blank=True):
            try:
                yield data.decode()
            except UnicodeDecodeError as error:
                found = f"the byte 0x{data[error.start]:02x} at position {error.start + 1}"
                raise refuse(path, found, "UTF-8 text", line=last) from error

    reader = csv.reader(lines(), strict=True)
    header: list[str] | None = None
    while True:
        first = last + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise refuse(path, str(error), "comma-separated values", line=first) from error
        if row is None:
            return
        if not row:
            continue
        if header is None:
            header = _check_header(path, row)
        elif len(row) != len(header):
            expected = f"{len(header)} fields, as in the header"
            raise refuse(path, f"{len(row)} fields", expected, line=first)
        else:
            yield first, dict(zip(header, row, strict=True))


def _check_header(path: Path, header: list[str]) -> list[str]:
    twice = [name for name in header if header.count(name) > 1]
    if twice:
        raise refuse(path, f"the column {twice[0]!r} twice", "each column once", line=1)
    return header


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield row number (from 1) and values of a Parquet file."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError("a Parquet file", "parquet") from error
    open_file(path).close()
    with duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"}) as db:
        try:
            described = db.execute("describe select * from read_parquet(?)", [str(path)]).fetchall()
            columns = [str(column[0]) for column in described]
            shown = ", ".join(_parquet_column(name, kind) for name, kind, *_ in described)
            cursor = db.execute(f"select {shown} from read_parquet(?)", [str(path)])
            number = 0
            while page := cursor.fetchmany(_PAGE):
                for values in page:
                    number += 1
                    yield number, dict(zip(columns, values, strict=True))
        except duckdb.Error as error:
            first_line = str(error).partition("\n")[0]
            raise refuse(path, first_line, "a complete Parquet file") from error


def _parquet_column(name: str, kind: str) -> str:
    """Return SQL for a column; times with a zone come as UTC, which needs no zone library."""
    quoted = '"' + name.replace('"', '""') + '"'
    return f"make_timestamp(epoch_us({quoted}))" if kind == "TIMESTAMP WITH TIME ZONE" else quoted
