"""Reads files of records into rows, telling the place of everything that is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, cast

import msgspec

from claimwise.disk.input import refuse
from claimwise.errors import InputError, Problem
from claimwise.readers.arrow import TABLE, read_arrow, read_arrow_table
from claimwise.readers.cells import cell_types, parse_cells
from claimwise.readers.choose import choose_reader
from claimwise.readers.files import find_format, guess_format, read_csv, read_lines
from claimwise.readers.json_keys import find_repeated_key, lines_repeat_no_key
from claimwise.readers.outside import Reader, RecordKind
from claimwise.readers.parquet import read_parquet
from claimwise.readers.problems import Complaint, holds_nul, make_problem, show
from claimwise.readers.records import KINDS, NAMES, NESTED, complete, expand
from claimwise.types.rows import QUERY_TYPES, Item, Placed, Row

_SHOWN_PROBLEMS = 20
_NOT_A_NUMBER = re.compile(rb"[\[:,]\s*-?(NaN|Infinity)\b")
_NUL = b"\\u0000"
_BLOCK_BYTES = 1 << 20  # of lines that are decoded at once
_UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


def read_rows(
    paths: Sequence[Path],
    *,
    kind: str | None = None,
    query_types: Collection[str] = QUERY_TYPES,
    reader: str | None = None,
    notes: list[str] | None = None,
) -> Iterator[Placed]:
    """Yield the rows of all files with their places.

    A record's kind is its ``type``, or ``kind``, or what the file's name begins with
    (``labels.jsonl``, ``labels-march.csv``).

    Args:
        paths: the files.
        kind: what they hold, when neither names nor records say it; such files are never given to
            the readers of other packages.
        query_types: those that items may have.
        reader: the name of the reader; else each file's format is recognised.
        notes: takes a line for every file that a reader of another package recognised.

    Raises:
        InputError: after the last file, when records were wrong; lists the first of them.
    """
    options = {} if kind is None else {"kind": kind}
    found = (
        _choose(path, kind, reader, [] if notes is None else notes).read(path, options)
        for path in paths
    )
    return _place_rows(paths, found, query_types)


def read_table_rows(
    table: object, *, kind: str | None = None, query_types: Collection[str] = QUERY_TYPES
) -> Iterator[Placed]:
    """Yield the rows of an Arrow table, or of a stream of record batches, with their numbers.

    Args:
        table: what has ``__arrow_c_stream__``, with columns named like the fields.
        kind: what it holds, when it has no column ``type``.
        query_types: those that items may have.

    Raises:
        InputError: after the last row, when records were wrong; lists the first of them.
        MissingExtraError: pyarrow is not installed.
    """
    return _place_rows([TABLE], [_read_table(TABLE, kind, read_arrow_table(table))], query_types)


def _place_rows(
    paths: Sequence[Path],
    found: Iterable[Iterator[tuple[int, object]]],
    query_types: Collection[str],
) -> Iterator[Placed]:
    problems: list[Problem] = []

    def note(problem: Problem) -> None:
        problems.append(problem)
        if len(problems) > _SHOWN_PROBLEMS:
            raise InputError(problems[:_SHOWN_PROBLEMS], more=True)

    for file_no, (path, rows) in enumerate(zip(paths, found, strict=True)):
        for line, row in rows:
            if not isinstance(row, Row):
                note(cast(Problem, row))
                continue
            if isinstance(row, Item) and row.query_type not in (None, *query_types):
                note(make_problem(path, line, _unknown_query_type(row.query_type, query_types)))
            yield Placed(row, file_no, line)
    if problems:
        raise InputError(problems)


PlacedRows = Iterator[tuple[int, Row | Problem]]


class RowReader:
    """Reads the rows of a format whose files have our records: jsonl, csv, parquet or arrow."""

    yields: RecordKind = "rows"

    def __init__(self, form: str) -> None:
        self._form = form

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Go by the file's name, and be certain where it says the kind of row too."""
        if guess_format(path) != self._form:
            return None
        return 1.0 if is_data_file(path) else 0.5

    def read(self, path: Path, options: Mapping[str, str]) -> PlacedRows:
        """Yield rows and problems with their lines."""
        return _READERS[self._form](path, options.get("kind") or _kind_of(path))


def _choose(path: Path, kind: str | None, name: str | None, notes: list[str]) -> Reader:
    if name is None and kind is not None:
        return RowReader(find_format(path))
    chosen = choose_reader(path, "rows", name)
    if chosen is None:
        return RowReader(find_format(path))
    if name is None and not chosen.entry.built_in:
        notes.append(f"{path} was read by the {chosen.entry}; --reader chooses another")
    return chosen.reader


def _unknown_query_type(found: str | None, known: Collection[str]) -> Complaint:
    listed = ", ".join(known)
    return Complaint(
        "query_type", show(found), f"one of {listed} (claimwise.toml may add: [vocabulary])"
    )


def is_data_file(path: Path) -> bool:
    """Return whether a file's name says what it holds and in which format."""
    return _kind_of(path) is not None and guess_format(path) is not None


def _kind_of(path: Path) -> str | None:
    """Return the kind that a file's name begins with; the longest match wins."""
    name = path.name.lower()
    matches = [kind for kind in NAMES if re.match(rf"{kind}(?![a-z_])", name)]
    return max(matches, key=len, default=None)


def find_kind(path: Path, kind: str | None) -> type[Row] | None:
    """Return the type of row that a file's name says, or else its kind; None where neither does."""
    name = kind or _kind_of(path)
    return None if name is None else NAMES.get(name)


def _row_type(kind: object, path: Path, line: int) -> type[Row]:
    row_type = NAMES.get(kind) if isinstance(kind, str) else None
    if row_type is None:
        listed = ", ".join(KINDS)
        found = "no kind of record" if kind is None else f"the kind {show(kind)}"
        raise refuse(path, found, f'a file name, "type" or --kind out of: {listed}', line=line)
    return row_type


def _read_jsonl(path: Path, kind: str | None) -> PlacedRows:
    lines = read_lines(path)
    first = next(lines, None)
    if first is None:
        return
    # Typed decoding is several times faster, and serves all flat records without a "type".
    typed = kind is not None and NAMES.get(kind) not in NESTED and b'"type"' not in first[1]
    decoder = msgspec.json.Decoder(_row_type(kind, path, 1)) if typed else None
    for block in _gather(chain([first], lines)):
        data = b"".join(data for _, data in block)
        rows = None if decoder is None else decode_lines(decoder, data)
        if rows is None:
            yield from _read_one_by_one(path, kind, decoder, block)
        else:
            yield from zip((number for number, _ in block), rows, strict=True)


def _gather(lines: Iterator[tuple[int, bytes]]) -> Iterator[list[tuple[int, bytes]]]:
    """Yield lines in blocks; what stands before an error comes before it."""
    block: list[tuple[int, bytes]] = []
    size = 0
    try:
        for line in lines:
            block.append(line)
            size += len(line[1])
            if size >= _BLOCK_BYTES:
                yield block
                block, size = [], 0
    except InputError:
        yield block
        raise
    yield block


def decode_lines(decoder: msgspec.json.Decoder[Row], data: bytes) -> list[Row] | None:
    """Return the rows of lines; None where one must be looked at by itself, as a wrong one must."""
    count = data.count(b"\n") + (not data.endswith(b"\n"))
    # A line begins an object of its own, and no row has another one inside.
    if data[:1] != b"{" or data.count(b"\n{") != count - 1:
        return None
    if b"\\" in data and _NUL in data:  # a single byte is found ten times as fast
        return None
    try:
        rows = decoder.decode_lines(data)
    except _UNREADABLE:
        return None
    if len(rows) != count or not lines_repeat_no_key(data):
        return None
    return [complete(row) for row in rows]


def _read_one_by_one(
    path: Path,
    kind: str | None,
    decoder: msgspec.json.Decoder[Row] | None,
    lines: Sequence[tuple[int, bytes]],
) -> PlacedRows:
    for number, data in lines:
        if decoder is not None and _NUL not in data:
            try:
                row = complete(decoder.decode(data))
                if find_repeated_key(data) is None:
                    yield number, row
                    continue
            except _UNREADABLE:
                pass  # the slow path finds the words for it
        try:
            record = decode_object(data)
            row_type = _row_type(record.pop("type", kind), path, number)
            for row in expand(record, row_type):
                yield number, row
        except Complaint as complaint:
            yield number, make_problem(path, number, complaint)


def decode_object(data: bytes) -> dict[str, Any]:
    """Return the object that a line holds.

    Raises:
        Complaint: it holds something else, or nothing that can be read.
    """
    try:
        record = msgspec.json.decode(data)
        if not isinstance(record, dict):
            raise Complaint(None, show(record), "one JSON object per line")
        if _NUL in data and holds_nul(record):
            raise Complaint(None, "a NUL character", "text without one")
        repeated = find_repeated_key(data)
    except _UNREADABLE as error:
        raise _explain_malformed(data, error) from error
    if repeated is not None:
        raise Complaint(None, f"the key {show(repeated.name)} twice", "each key once")
    return record


def _explain_malformed(data: bytes, error: Exception) -> Complaint:
    if isinstance(error, RecursionError):
        return Complaint(None, "brackets nested too deeply", "one JSON object per line")
    if b"\x00" in data:
        return Complaint(None, "a NUL character", "text without one")
    try:
        data.decode()
    except UnicodeDecodeError as wrong:
        found = f"the byte 0x{data[wrong.start]:02x} at position {wrong.start + 1}"
        return Complaint(None, found, "UTF-8 text")
    message = str(error)
    if not data.endswith(b"\n") and "truncated" in message:
        return Complaint(
            None, "the end of the file inside a record", "a complete file (was it cut off?)"
        )
    number = _NOT_A_NUMBER.search(data)
    if number:
        return Complaint(None, number[1].decode(), "a number or null")
    detail = message.removeprefix("JSON is malformed: ")
    return Complaint(None, f"malformed JSON ({detail})", "one JSON object per line")


def _read_table(
    path: Path, kind: str | None, rows: Iterator[tuple[int, dict[str, Any]]]
) -> PlacedRows:
    for line, record in rows:
        try:
            row_type = _row_type(record.pop("type", kind), path, line)
            if holds_nul(record):
                raise Complaint(None, "a NUL character", "text without one")
            for row in expand(record, row_type):
                yield line, row
        except Complaint as complaint:
            yield line, make_problem(path, line, complaint)


def _read_csv(path: Path, kind: str | None) -> PlacedRows:
    types = {kind: cell_types(row_type) for kind, row_type in NAMES.items()}
    rows = (
        (line, parse_cells(cells, types.get(cells.get("type", kind or ""), {})))
        for line, cells in read_csv(path)
    )
    return _read_table(path, kind, rows)


def _read_parquet(path: Path, kind: str | None) -> PlacedRows:
    return _read_table(path, kind, read_parquet(path))


def _read_arrow(path: Path, kind: str | None) -> PlacedRows:
    return _read_table(path, kind, read_arrow(path))


_READERS: dict[str, Callable[[Path, str | None], PlacedRows]] = {
    "jsonl": _read_jsonl,
    "csv": _read_csv,
    "parquet": _read_parquet,
    "arrow": _read_arrow,
}
