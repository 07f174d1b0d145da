"""Reads the rows of a Parquet file in little memory, whatever it unpacks to.

A file of a few kilobytes can unpack to gigabytes: a long text is in it once, and said to stand in
a million rows. So its size is taken first, from its metadata and from the lengths of its texts,
which DuckDB counts without unpacking them; then its rows come in pages of a bounded size.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from claimwise.disk.duckdb_files import connect_duckdb, name_paths, open_for_duckdb
from claimwise.disk.input import open_input, refuse, show_size
from claimwise.readers.files import MAX_LINE_BYTES, MAX_UNPACKED_BYTES

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

MAX_ROWS = 50_000_000
MAX_COLUMNS = 200
_MEMORY = 1 << 30  # DuckDB's, for the parts of the file that it holds at once
_PAGE_BYTES = 32 * 1024 * 1024
_VALUE_BYTES = 8  # what a value takes besides its letters
_FETCHED = 10_000
_ADVICE = "split the file, or write it as JSON Lines"
_LENGTHS = {"VARCHAR": "strlen", "JSON": "strlen", "BLOB": "octet_length"}
_PLAIN = re.compile(
    r"BOOLEAN|U?(TINY|SMALL|BIG|HUGE)?INT(EGER)?|FLOAT|DOUBLE|DECIMAL\(\d+,\d+\)"
    r'|DATE|TIME.*|UUID|INTERVAL|"NULL"'
)


class _Column(NamedTuple):
    name: str
    kind: str

    @property
    def nested(self) -> bool:
        return self.kind not in _LENGTHS and not _PLAIN.fullmatch(self.kind)

    @property
    def quoted(self) -> str:
        return '"' + self.name.replace('"', '""') + '"'

    @property
    def value(self) -> str:
        """SQL for its values: lists as JSON, times as UTC, which needs no zone library."""
        if self.nested:
            return f"cast(to_json({self.quoted}) as varchar)"
        zoned = self.kind == "TIMESTAMP WITH TIME ZONE"
        return f"make_timestamp(epoch_us({self.quoted}))" if zoned else self.quoted

    @property
    def size(self) -> str:
        """SQL for the bytes that its values take."""
        if self.nested:
            return f"{_VALUE_BYTES} + coalesce(strlen({self.value}), 0)"
        length = _LENGTHS.get(self.kind)
        letters = f" + coalesce({length}({self.quoted}), 0)" if length else ""
        return f"{_VALUE_BYTES}{letters}"


def read_parquet(path: Path, *, nested: bool = False) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield row number (from 1) and values of a Parquet file.

    Args:
        path: the file.
        nested: whether columns may hold lists and structs; they come as Python's.

    Raises:
        InputError: it is damaged or beyond the limits, or a column holds what it may not.
    """
    with open_input(path):
        if not path.is_file():
            raise refuse(path, "a pipe or a device", "a file: Parquet is read from its end")
    with connect_duckdb("a Parquet file", memory_limit=f"{_MEMORY}B", threads="1") as db:
        import duckdb

        names: dict[str, Path] = {}
        try:
            with open_for_duckdb(path) as name:
                names[name] = path
                yield from _read_rows(db, path, name, nested)
        except duckdb.OutOfMemoryException as error:
            found = f"a part that takes over {show_size(_MEMORY)} of memory"
            raise refuse(path, found, f"smaller ones: {_ADVICE}") from error
        except duckdb.Error as error:
            found = name_paths(str(error), names)
            raise refuse(path, found, "a complete Parquet file") from error


def _read_rows(
    db: DuckDBPyConnection, path: Path, name: str, nested: bool
) -> Iterator[tuple[int, dict[str, Any]]]:
    columns = _list_columns(db, path, name, nested)
    _check_rows(db, path, name)
    pages = _cut_pages(db, path, name, columns)
    values = ", ".join(column.value for column in columns)
    page = (
        f"select {values} from read_parquet('{name}', file_row_number = true) "
        "where file_row_number >= ? and file_row_number < ?"
    )
    for first, end in pages:
        rows = db.execute(page, [first, end]).fetchall()
        for number, row in enumerate(rows, start=first + 1):
            yield (
                number,
                {
                    column.name: _open_json(value) if column.nested else value
                    for column, value in zip(columns, row, strict=True)
                },
            )


def _open_json(value: str | None) -> Any:
    return None if value is None else msgspec.json.decode(value)


def _list_columns(db: DuckDBPyConnection, path: Path, name: str, nested: bool) -> list[_Column]:
    described = db.execute(f"describe select * from read_parquet('{name}')").fetchall()
    columns = [_Column(str(column[0]), str(column[1])) for column in described]
    if len(columns) > MAX_COLUMNS:
        raise refuse(path, f"{len(columns):,} columns", f"at most {MAX_COLUMNS}")
    for column in columns:
        if column.nested and not nested:
            found = f"the column {column.name[:80]!r} of the type {column.kind[:80]}"
            expected = "text, numbers, true or false, or times; put nested records into JSON Lines"
            raise refuse(path, found, expected)
    return columns


def _check_rows(db: DuckDBPyConnection, path: Path, name: str) -> None:
    [(rows,)] = db.execute(f"select num_rows from parquet_file_metadata('{name}')").fetchall()
    if rows > MAX_ROWS:
        raise refuse(path, f"{rows:,} rows", f"at most {MAX_ROWS:,}: {_ADVICE}")


def _cut_pages(
    db: DuckDBPyConnection, path: Path, name: str, columns: Sequence[_Column]
) -> list[tuple[int, int]]:
    """Return first and last row of pages, from 0, the last not included.

    A page is one row, or as many as take no more than its bytes. A row keeps the limit of a line.

    Raises:
        InputError: a row is too long, or all of them together.
    """
    size = " + ".join(column.size for column in columns)
    cursor = db.execute(f"select {size} from read_parquet('{name}')")
    pages: list[tuple[int, int]] = []
    first = row = filled = total = 0
    while sizes := cursor.fetchmany(_FETCHED):
        for (taken,) in sizes:
            if taken > MAX_LINE_BYTES:
                most = show_size(MAX_LINE_BYTES)
                raise refuse(path, f"a row of over {most}", f"at most {most}", line=row + 1)
            if filled and filled + taken > _PAGE_BYTES:
                pages.append((first, row))
                first, filled = row, 0
            filled += taken
            total += taken
            row += 1
        if total > MAX_UNPACKED_BYTES:
            most = show_size(MAX_UNPACKED_BYTES)
            raise refuse(path, f"over {most} when unpacked", f"at most {most}: {_ADVICE}")
    return [*pages, (first, row)]
