"""Writes rows to files: the inverse of reading.

A folder gets one file per kind of row. Files are written beside their final names and moved
there when all are complete, so no file is ever half-written; an export killed while it moves them
leaves some files old and some new, and can be repeated. The next export removes what it left.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from claimwise.disk.duckdb_files import connect_duckdb, open_for_duckdb, writing_errors
from claimwise.disk.output import move_into_place, work_folder
from claimwise.readers.arrow import load_arrow
from claimwise.text.formulas import guard_cell
from claimwise.types.rows import Row, column_types

if TYPE_CHECKING:
    import duckdb

_BATCH_ROWS = 10_000
_BATCH_LETTERS = 32 * 1024 * 1024
Rows = Iterable[dict[str, Any]]
Writer = Callable[[Path, type[Row], Iterator[Row]], int]


def write_files(
    folder: Path, form: str, tables: Iterable[tuple[type[Row], Rows]]
) -> list[tuple[Path, int]]:
    """Write every table to ``folder``/kind.form; return the files and their numbers of rows.

    Args:
        folder: made when missing; older files of the same names are replaced.
        form: jsonl, csv, parquet or arrow.
        tables: row types with their rows in order.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with work_folder(folder) as work:
        written = []
        with _open_writer(form) as write:
            for row_type, rows in tables:
                name = f"{row_type.kind}.{form}"
                count = write(work / name, row_type, _typed(row_type, rows))
                written.append((folder / name, count))
        for path, _ in written:
            move_into_place(work / path.name, path)
        return written


@contextmanager
def _open_writer(form: str) -> Iterator[Writer]:
    """Yield what writes one file; all Parquet files share a DuckDB, which takes time to start."""
    if form != "parquet":
        yield _WRITERS[form]
        return
    with connect_duckdb("a Parquet file") as db:
        yield partial(_write_parquet, db)


def _typed(row_type: type[Row], rows: Rows) -> Iterator[Row]:
    """Give every engine's values the types of the row: SQLite has no booleans and no times."""
    for row in rows:
        typed = msgspec.convert(row, row_type, strict=False)
        for name, value in msgspec.structs.asdict(typed).items():
            if isinstance(value, datetime):
                setattr(typed, name, value.replace(tzinfo=UTC))
        yield typed


def _write_jsonl(path: Path, row_type: type[Row], rows: Iterator[Row]) -> int:
    count = 0
    encoder = msgspec.json.Encoder()
    with path.open("wb") as file:
        for row in rows:
            filled = {k: v for k, v in msgspec.structs.asdict(row).items() if v is not None}
            file.write(encoder.encode(filled) + b"\n")
            count += 1
    return count


def _write_csv(path: Path, row_type: type[Row], rows: Iterator[Row]) -> int:
    count = 0
    with path.open("w", encoding="utf-8", newline="") as file:
        # Texts in quotes, so that no part of one is a cell of its own elsewhere.
        writer = csv.writer(file, lineterminator="\r\n", quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(row_type.__struct_fields__)
        for row in rows:
            values = msgspec.to_builtins(msgspec.structs.astuple(row))
            writer.writerow([guard_cell(value) for value in values])
            count += 1
    return count


def _write_parquet(
    db: duckdb.DuckDBPyConnection, path: Path, row_type: type[Row], rows: Iterator[Row]
) -> int:
    """Go through JSON Lines, which DuckDB reads far faster than it binds rows."""
    raw = path.with_suffix(".jsonl")
    count = _write_jsonl(raw, row_type, rows)
    types = column_types(row_type)
    columns = ", ".join(f"{name}: '{_SQL_TYPES[kind]}'" for name, kind in types.items())
    flags = os.O_RDWR | os.O_CREAT | os.O_TRUNC
    with (
        open_for_duckdb(raw) as lines,
        open_for_duckdb(path, flags) as target,
        writing_errors(),
    ):
        db.execute(
            f"copy (select * from read_json('{lines}', columns = {{{columns}}}, "
            "format = 'newline_delimited', maximum_object_size = 268435456)) "
            f"to '{target}' (format parquet, compression zstd, use_tmp_file false)"
        )
    raw.unlink()
    return count


def _write_arrow(path: Path, row_type: type[Row], rows: Iterator[Row]) -> int:
    """Write the IPC file format, compressed, a batch of rows at a time."""
    arrow = load_arrow("an Arrow file")
    count = 0
    options = arrow.ipc.IpcWriteOptions(compression="zstd")
    schema = _find_schema(row_type)
    with (
        arrow.OSFile(str(path), "wb") as file,
        arrow.ipc.new_file(file, schema, options=options) as writer,
    ):
        for batch in _make_batches(schema, rows):
            writer.write_batch(batch)
            count += batch.num_rows
    return count


def make_arrow_reader(row_type: type[Row], rows: Rows) -> Any:
    """Return a pyarrow RecordBatchReader that takes the rows of a table as they are asked for.

    Raises:
        MissingExtraError: pyarrow is not installed.
    """
    arrow = load_arrow("an Arrow table")
    schema = _find_schema(row_type)
    batches = _make_batches(schema, _typed(row_type, rows))
    return arrow.RecordBatchReader.from_batches(schema, batches)


def _find_schema(row_type: type[Row]) -> Any:
    arrow = load_arrow("an Arrow table")
    kinds = {
        str: arrow.string(), bool: arrow.bool_(), int: arrow.int64(), float: arrow.float64(),
        datetime: arrow.timestamp("us", "UTC"), date: arrow.date32(),
    }  # fmt: skip
    return arrow.schema([(name, kinds[kind]) for name, kind in column_types(row_type).items()])


def _make_batches(schema: Any, rows: Iterator[Row]) -> Iterator[Any]:
    """Yield record batches of a bounded number of rows and of characters."""
    batch: list[tuple[Any, ...]] = []
    size = 0
    for row in rows:
        values = msgspec.structs.astuple(row)
        batch.append(values)
        size += sum(len(value) for value in values if isinstance(value, str))
        if len(batch) == _BATCH_ROWS or size > _BATCH_LETTERS:
            yield _make_batch(schema, batch)
            batch, size = [], 0
    if batch:
        yield _make_batch(schema, batch)


def _make_batch(schema: Any, rows: list[tuple[Any, ...]]) -> Any:
    arrow = load_arrow("an Arrow table")
    arrays = [
        arrow.array(values, field.type)
        for values, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return arrow.record_batch(arrays, schema=schema)


_SQL_TYPES: dict[type, str] = {
    str: "varchar",
    bool: "boolean",
    int: "integer",
    float: "double",
    datetime: "timestamp",
    date: "date",
}

_WRITERS: dict[str, Writer] = {"jsonl": _write_jsonl, "csv": _write_csv, "arrow": _write_arrow}
