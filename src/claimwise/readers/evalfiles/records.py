"""Yields the records of a file with their numbers: JSON Lines, JSON, CSV, Excel, Parquet or Arrow.

The form is told from the content. JSON comes in the shapes that pandas and others write: a list of
records, an object with one, columns of lists, columns by index, or ``columns`` and ``data``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec

from claimwise.disk.input import refuse, show_size
from claimwise.errors import Problem
from claimwise.readers.arrow import read_arrow
from claimwise.readers.arrow_messages import is_arrow
from claimwise.readers.documents import STDIN
from claimwise.readers.evalfiles.columns import ROLES, is_table, list_columns
from claimwise.readers.evalfiles.sketch import find_header
from claimwise.readers.evalfiles.values import normalise_name
from claimwise.readers.evalfiles.workbooks import is_workbook, read_workbook
from claimwise.readers.files import MAX_LOADED_BYTES, read_cells, read_lines
from claimwise.readers.json_keys import find_repeated_key
from claimwise.readers.parquet import read_parquet
from claimwise.readers.problems import Complaint, make_problem

Numbered = Iterator[tuple[int, dict[str, Any] | Problem]]

_LISTS = ("data", "results", "rows", "records", "examples", "samples", "items", "testcases",
          "test_cases", "goldens", "questions", "dataset", "evaluations",
          "predictions")  # fmt: skip
_KNOWN = frozenset(name for names in ROLES.values() for name in names)
_KEYS_OF_ITEMS = frozenset({"item", "datasource_item", "vars"})  # of OpenAI Evals, promptfoo
_MOST_DEPTH = 3
_HEAD_BYTES = 65_536
_CUT_OFF = "the end of the file inside a record"


def read_records(path: Path) -> Numbered:
    """Yield the records of a file; a problem stands for one that can't be read.

    Raises:
        InputError: the file can't be read as a whole.
    """
    if path != STDIN and path.is_file():
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
        if head.startswith(b"PAR1"):
            yield from read_parquet(path, nested=True)
            return
        if is_arrow(head):
            yield from read_arrow(path, nested=True)
            return
        if is_workbook(head):
            yield from _read_workbook(path)
            return
    lines = read_lines(path, blank=True)
    first = next((pair for pair in lines if not pair[1].isspace()), None)
    if first is None:
        return
    if first[1].lstrip()[:1] in (b"{", b"["):
        yield from _read_json(path, first, lines)
    else:
        yield from _read_delimited(path, first, lines)


def load_json(path: Path) -> Any:
    """Return what a JSON file holds, read whole; a list of records for JSON Lines.

    Raises:
        InputError: it is too long, malformed, or has a key twice.
    """
    parts: list[bytes] = []
    size = 0
    for _, data in read_lines(path, blank=True):
        size += len(data)
        if size > MAX_LOADED_BYTES:
            limit = show_size(MAX_LOADED_BYTES)
            raise refuse(path, f"over {limit} of JSON", f"at most {limit}, or JSON Lines")
        parts.append(data)
    return decode_json(path, b"".join(parts))


def decode_json(path: Path, data: bytes, *, name: str = "") -> Any:
    """Return what a JSON text holds.

    Raises:
        InputError: it is malformed, or has a key twice.
    """
    where = f" in {name}" if name else ""
    try:
        found = decode_tolerantly(data)
        repeated = find_repeated_key(data) if isinstance(found, dict | list) else None
    except RecursionError as error:
        found = f"brackets nested too deeply{where}"
        raise refuse(path, found, "records of question, answer and contexts") from error
    except (msgspec.DecodeError, ValueError) as error:
        raise refuse(path, f"malformed JSON{where} ({error})", "a complete JSON file") from error
    if repeated is not None:
        raise refuse(path, f"the key {repeated.name!r} twice{where}", "each key once")
    return found


def decode_tolerantly(data: bytes) -> Any:
    """Return what a JSON text holds; NaN and Infinity, which Python writes, are null."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        if b"NaN" not in data and b"Infinity" not in data:
            raise
        return json.loads(data, parse_constant=lambda _: None)


def _read_json(
    path: Path, first: tuple[int, bytes], lines: Iterator[tuple[int, bytes]]
) -> Numbered:
    """Read JSON Lines where the first line is an object by itself; otherwise the file whole."""
    try:
        record = decode_tolerantly(first[1])
    except (msgspec.DecodeError, ValueError, RecursionError):
        record = None
    following = (pair for pair in lines if not pair[1].isspace())
    second = next(following, None) if isinstance(record, dict) else None
    if second is not None:
        yield from _read_json_lines(path, chain([first, second], following))
        return
    if record is None:
        record = _decode_rest(path, first, lines)
    yield from enumerate(list_records(path, record), start=1)


def _decode_rest(path: Path, first: tuple[int, bytes], lines: Iterator[tuple[int, bytes]]) -> Any:
    parts = [first[1]]
    size = len(first[1])
    for _, data in lines:
        size += len(data)
        if size > MAX_LOADED_BYTES:
            limit = show_size(MAX_LOADED_BYTES)
            raise refuse(path, f"over {limit} of JSON", f"at most {limit}, or JSON Lines")
        parts.append(data)
    return decode_json(path, b"".join(parts))


def _read_json_lines(path: Path, lines: Iterator[tuple[int, bytes]]) -> Numbered:
    for number, data in lines:
        try:
            record = decode_tolerantly(data)
            repeated = find_repeated_key(data)
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            cut = not data.endswith(b"\n") and "truncated" in str(error)
            found = _CUT_OFF if cut else f"malformed JSON ({error})"
            yield (
                number,
                make_problem(path, number, Complaint(None, found, "one JSON object per line")),
            )
            continue
        if not isinstance(record, dict):
            found, expected = "no object", "one JSON object per line"
        elif repeated is not None:
            found, expected = f"the key {repeated.name!r} twice", "each key once"
        else:
            yield number, record
            continue
        yield number, make_problem(path, number, Complaint(None, found, expected))


def list_records(path: Path, found: Any) -> list[dict[str, Any]]:
    """Return the records of a JSON value, whatever shape a tool gave it.

    Raises:
        InputError: there are none.
    """
    if isinstance(found, list):
        records = [one for one in found if isinstance(one, dict)]
        if records or not found:
            return records
    elif isinstance(found, dict):
        return _open_object(found)
    raise refuse(path, "JSON without records", "a list of objects, or an object with one")


def _open_object(found: dict[str, Any]) -> list[dict[str, Any]]:
    columns, data = found.get("columns"), found.get("data")
    if isinstance(columns, list) and isinstance(data, list):
        return [dict(zip(map(str, columns), row, strict=False)) for row in data
                if isinstance(row, list)]  # fmt: skip
    values = list(found.values())
    if values and all(isinstance(value, list) for value in values):
        if (
            len(values) > 1
            and len({len(value) for value in values}) == 1
            and not _is_records(values[0])
        ):
            return _turn(found)
    elif values and all(isinstance(value, dict) for value in values):
        indexed = _open_indexed(found)
        if indexed:
            return indexed
    if is_table(list_columns([found])) or not _KEYS_OF_ITEMS.isdisjoint(found):
        return [found]
    lists = list(_find_lists(found, 0))
    tables = [pair for pair in lists if is_table(list_columns(spread_systems(pair[1][:20])))]
    if len(tables) > 1:
        return [one for name, records in tables for one in _name_system(name, records)]
    named = [pair for pair in lists if pair[0] in _LISTS]
    chosen = next((records for _, records in [*tables, *named, *lists]), [found])
    return [one for one in chosen if isinstance(one, dict)]


def _name_system(name: str, records: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield the records of one of several lists, which the list's name tells apart."""
    for one in records:
        if isinstance(one, dict):
            told = any(normalise_name(key) in ROLES["system"] for key in one)
            yield one if told else {"system": name, **one}


def spread_systems(records: Iterable[Any]) -> Iterator[dict[str, Any]]:
    """Yield records with one answer each: a record may hold those of several systems.

    ``{"question": …, "naive": {"answer": …}, "graph": {"answer": …}}`` is one for each system.
    """
    for one in records:
        if not isinstance(one, dict):
            continue
        inner = {} if is_table(list_columns([one])) else _find_systems(one)
        rest = {name: value for name, value in one.items() if name not in inner}
        for name, value in inner.items():
            yield {"system": name, **rest, **value}
        if not inner:
            yield one


def _find_systems(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    if not any(normalise_name(name) in ROLES["question"] for name in record):
        return {}
    return {
        name: value
        for name, value in record.items()
        if isinstance(value, dict)
        and any(normalise_name(key) in ROLES["answer"] for key in value)
        and normalise_name(name) not in _KNOWN
    }


def _find_lists(found: Mapping[str, Any], depth: int) -> Iterator[tuple[str, list[Any]]]:
    """Yield the lists of records in an object, outer ones first; contexts and messages are none."""
    for name, value in found.items():
        if _is_records(value) and (name in _LISTS or normalise_name(name) not in _KNOWN):
            yield name, value
    for value in found.values():
        if isinstance(value, dict) and depth < _MOST_DEPTH:
            yield from _find_lists(value, depth + 1)


def _is_records(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and isinstance(value[0], dict)


def _turn(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _open_indexed(found: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """Read ``{"question": {"0": …}}``, as pandas writes it, or ``{"0": {"question": …}}``."""
    indexes = list(dict.fromkeys(key for column in found.values() for key in column))
    if indexes and all(index.lstrip("-").isdigit() for index in indexes):
        return [{name: column.get(index) for name, column in found.items()} for index in indexes]
    if all(key.isdigit() for key in found):
        return list(found.values())
    return []


def _read_delimited(
    path: Path, first: tuple[int, bytes], lines: Iterator[tuple[int, bytes]]
) -> Numbered:
    """Read CSV; a row of another length than the header is a problem, not the end."""
    header: list[str] | None = None
    _, delimiter = find_header(first[1].decode(errors="replace"))
    rows = read_cells(path, chain([first], lines), delimiter=delimiter, strict=False)
    for line, row in rows:
        if header is None:
            header = _name_columns(row)
            continue
        while len(row) > len(header) and not row[-1].strip():
            row.pop()
        if len(row) > len(header):
            expected = f"{len(header)} fields, as in the header"
            yield line, make_problem(path, line, Complaint(None, f"{len(row)} fields", expected))
            continue
        row += [""] * (len(header) - len(row))
        yield line, dict(zip(header, row, strict=True))


def _read_workbook(path: Path) -> Numbered:
    """Read a sheet below its header; cells without a column's name are left out."""
    header: list[str] | None = None
    for number, row in read_workbook(path, is_table):
        if header is None:
            header = _name_columns([str(name or "") for name in row])
            continue
        yield (
            number,
            {name: value for name, value in zip(header, row, strict=False) if name},
        )


def _name_columns(row: list[str]) -> list[str]:
    """Return a header's names; the second of one name gets a number, as pandas gives it."""
    seen: dict[str, int] = {}
    names = []
    for name in (name.strip() for name in row):
        seen[name] = seen.get(name, -1) + 1
        names.append(f"{name}.{seen[name]}" if seen[name] else name)
    return names
