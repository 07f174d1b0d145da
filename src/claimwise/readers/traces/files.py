"""Loads the records of a file of traces: JSON, JSON Lines, CSV or Parquet, told by the content."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from lzma import LZMAError
from pathlib import Path
from typing import Any
from zlib import error as ZlibError

import msgspec

from claimwise.disk.input import check_length, describe_failure, refuse
from claimwise.readers.documents import MAX_TEXT_BYTES, STDIN
from claimwise.readers.files import open_file, read_csv
from claimwise.readers.json_keys import find_repeated_key
from claimwise.readers.parquet import read_parquet
from claimwise.readers.problems import Complaint, make_problem, show

# A trace's spans may stand anywhere in a file, so it is held as a whole.
MAX_BYTES = 256 * 1024 * 1024
Loaded = Iterator[tuple[int, Any]]
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
_ADVICE = "export fewer traces at a time"


def read_bytes(path: Path) -> bytes:
    """Return a file's bytes, unpacked where its name says that it is packed.

    Raises:
        InputError: it can't be read, is damaged, or is too long.
    """
    if path == STDIN:
        data = sys.stdin.buffer.read(MAX_TEXT_BYTES + 1)
        return check_length(path, data, MAX_TEXT_BYTES, _ADVICE)
    try:
        with open_file(path) as file:
            data = file.read(MAX_BYTES + 1)
    except (EOFError, LZMAError, ZlibError) as error:
        raise refuse(path, f"a damaged or cut-off file ({error})", "a complete file") from error
    except OSError as error:
        raise refuse(path, describe_failure(error)) from error
    return check_length(path, data, MAX_BYTES, _ADVICE)


def load_records(path: Path, data: bytes) -> Loaded:
    """Yield the records of a file with their lines; a problem for each that can't be read."""
    if data.startswith(b"PAR1"):
        yield from read_parquet(path, nested=True)
        return
    data = data.removeprefix(b"\xef\xbb\xbf")
    if data.lstrip()[:1] in (b"{", b"["):
        yield from _load_json(path, data)
    elif path == STDIN or not path.is_file() or b"," not in data.partition(b"\n")[0]:
        raise refuse(path, show(data[:200].strip()), "a trace, as JSON")
    else:
        yield from read_csv(path)


def _load_json(path: Path, data: bytes) -> Loaded:
    try:
        document = _decode(path, data, 1)
    except _UNREADABLE as error:
        lines = [(n, line) for n, line in enumerate(data.split(b"\n"), start=1) if line.strip()]
        if len(lines) < 2 or not _is_json(lines[0][1]):
            raise refuse(
                path, f"malformed JSON ({_describe(error)})", "a trace, as JSON"
            ) from error
        yield from _load_lines(path, lines)
        return
    parts = document if isinstance(document, list) else [document]
    for part in parts:
        yield 1, part


def _load_lines(path: Path, lines: list[tuple[int, bytes]]) -> Loaded:
    for number, line in lines:
        try:
            yield number, _decode(path, line, number)
        except _UNREADABLE as error:
            complaint = Complaint(
                None, f"malformed JSON ({_describe(error)})", "one record per line"
            )
            yield number, make_problem(path, number, complaint)


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except _UNREADABLE:
        return False
    return True


def _describe(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    return str(error).removeprefix("JSON is malformed: ")


def _decode(path: Path, data: bytes, first_line: int) -> Any:
    found = msgspec.json.decode(data)
    repeated = find_repeated_key(data)
    if repeated is not None:
        name, line = show(repeated.name), first_line - 1 + repeated.line
        raise refuse(path, f"the key {name} twice", "each key once", line=line)
    return found
