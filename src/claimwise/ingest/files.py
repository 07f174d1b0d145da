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
from io import TextIOWrapper
from pathlib import Path
from typing import Any, BinaryIO, cast

from claimwise.errors import InputError, MissingExtraError, Problem

MAX_LINE_BYTES = 32 * 1024 * 1024
FORMATS = ("jsonl", "csv", "parquet")
_COMPRESSIONS = (".gz", ".xz")
_PAGE = 10_000


def find_format(path: Path) -> str:
    """Return the format that a file's name promises.

    Raises:
        InputError: the name has another ending.
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] in _COMPRESSIONS:
        suffixes.pop()
    ending = suffixes[-1].removeprefix(".") if suffixes else ""
    ending = {"ndjson": "jsonl", "json": "jsonl"}.get(ending, ending)
    if ending in FORMATS:
        return ending
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


def read_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield number and bytes of the lines of a file that are not blank, line breaks included."""
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
            if not data.isspace():
                yield number, data


def read_csv(path: Path) -> Iterator[tuple[int, dict[str, str]]]:
    """Yield line number and fields of the rows of a CSV file with a header."""
    with TextIOWrapper(open_file(path), encoding="utf-8-sig", newline="") as text:
        reader = csv.DictReader(text, strict=True)
        number = 1
        try:
            for row in reader:
                if None in row or None in row.values():
                    found = len(reader.fieldnames or ()) if None in row else _count_filled(row)
                    raise refuse(
                        path,
                        "more fields than the header has" if None in row else f"{found} fields",
                        f"{len(reader.fieldnames or ())} fields, as in the header",
                        line=reader.line_num,
                    )
                yield number + 1, row
                number = reader.line_num
        except UnicodeDecodeError as error:
            raise refuse(
                path,
                f"the byte 0x{error.object[error.start]:02x}",
                "UTF-8 text",
                line=reader.line_num + 1,
            ) from error
        except (csv.Error, EOFError, lzma.LZMAError, zlib.error, OSError) as error:
            raise refuse(
                path, str(error), "comma-separated values", line=reader.line_num
            ) from error


def _count_filled(row: dict[str, str]) -> int:
    return sum(value is not None for value in row.values())


def read_parquet(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield row number (from 1) and values of a Parquet file."""
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError("a Parquet file", "parquet") from error
    open_file(path).close()
    with duckdb.connect(":memory:", config={"autoinstall_known_extensions": "false"}) as db:
        try:
            cursor = db.execute("select * from read_parquet(?)", [str(path)])
            columns = [column[0] for column in cursor.description or ()]
            number = 0
            while page := cursor.fetchmany(_PAGE):
                for values in page:
                    number += 1
                    yield number, dict(zip(columns, values, strict=True))
        except duckdb.Error as error:
            first_line = str(error).partition("\n")[0]
            raise refuse(path, first_line, "a complete Parquet file") from error
