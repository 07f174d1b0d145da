"""Reads the rows of Arrow files and Arrow tables in little memory, one record batch at a time.

Files may be in the IPC file format (Feather) or the stream format, compressed or not. What a
record batch unpacks to is known before it is unpacked (`arrow_messages`); then it is checked, and
its rows come in pages of a bounded size: a text that a dictionary holds once may stand in a
million rows. Columns hold what those of Parquet files may hold. No type of another package is
loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from claimwise.disk.input import open_input, refuse, show_size
from claimwise.errors import InputError, MissingExtraError
from claimwise.readers.arrow_messages import FILE_MARK, DamagedArrowError, is_arrow, read_messages
from claimwise.readers.files import MAX_LINE_BYTES, MAX_UNPACKED_BYTES
from claimwise.readers.parquet import MAX_COLUMNS, MAX_ROWS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

TABLE: Final = Path("Arrow table")  # the place of rows that come from no file
MAX_BATCH_BYTES = 1 << 30
_PAGE_BYTES = 32 * 1024 * 1024
_VALUE_BYTES = 8  # what a value takes besides its letters
_MEASURED_ROWS = 65_536
_ADVICE = "split the file, or write it as JSON Lines"
Rows = Iterator[tuple[int, dict[str, Any]]]


def load_arrow(feature: str) -> Any:
    """Return pyarrow with its parts.

    Args:
        feature: what needs it, for the error's text.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        for part in ("compute", "ipc"):
            import_module(f"pyarrow.{part}")
        return import_module("pyarrow")
    except ImportError as error:
        raise MissingExtraError(feature, "arrow") from error


def read_arrow(path: Path, *, nested: bool = False) -> Rows:
    """Yield row number (from 1) and values of an Arrow file.

    Args:
        path: the file.
        nested: whether columns may hold lists and structs; they come as Python's.

    Raises:
        InputError: it is damaged or beyond the limits, or a column holds what it may not.
        MissingExtraError: pyarrow is not installed.
    """
    with open_input(path) as file:
        if not path.is_file():
            raise refuse(path, "a pipe or a device", "a file: an Arrow file is measured first")
        arrow = load_arrow("an Arrow file")
        with _name_damage(arrow, path):
            _check_messages(path, file)
            schema, batches = _open_batches(arrow, file)
            yield from _read_batches(path, schema, batches, nested, MAX_UNPACKED_BYTES)


def read_arrow_table(table: object) -> Rows:
    """Yield row number (from 1) and values of a table, or a stream, that is in memory.

    Args:
        table: what has the Arrow PyCapsule interface (``__arrow_c_stream__``): a table or a
            RecordBatchReader of pyarrow, a DataFrame of polars or pandas, a relation of DuckDB.

    Raises:
        InputError: it is nothing of the kind, or a column holds what it may not.
        MissingExtraError: pyarrow is not installed.
    """
    arrow = load_arrow("an Arrow table")
    if not hasattr(table, "__arrow_c_stream__"):
        expected = "a table or a RecordBatchReader, with __arrow_c_stream__"
        raise refuse(TABLE, f"an object of the type {type(table).__name__}", expected)
    with _name_damage(arrow, TABLE), arrow.RecordBatchReader.from_stream(table) as stream:
        yield from _read_batches(TABLE, stream.schema, stream, False, None)


@contextmanager
def _name_damage(arrow: Any, path: Path) -> Iterator[None]:
    """Say of which file it is that it can't be read."""
    try:
        yield
    except InputError:
        raise
    except (DamagedArrowError, UnicodeDecodeError, OSError, arrow.ArrowException) as error:
        found = f"a damaged Arrow file ({str(error).partition(chr(10))[0]})"
        raise refuse(path, found, "a complete file") from error


def _check_messages(path: Path, file: BinaryIO) -> None:
    """Raise InputError for a file whose messages would take too much, before any is unpacked."""
    if not is_arrow(file.read(8)):
        expected = "the IPC file format (Feather version 2) or the stream format of Arrow"
        raise refuse(path, "no Arrow file", expected)
    rows = dictionaries = 0
    most = show_size(MAX_BATCH_BYTES)
    for message in read_messages(file):
        if message.rows is None:
            dictionaries += message.unpacked  # they may all be held at once
            if dictionaries > MAX_BATCH_BYTES:
                found = f"dictionaries of over {most} when unpacked"
                raise refuse(path, found, f"at most {most}: write plain columns")
            continue
        if message.unpacked > MAX_BATCH_BYTES:
            found = f"a record batch of over {most} when unpacked"
            raise refuse(path, found, f"at most {most}: write smaller batches")
        rows += message.rows
        if rows > MAX_ROWS or message.rows < 0:
            raise refuse(path, f"{rows:,} rows", f"at most {MAX_ROWS:,}: {_ADVICE}")


def _open_batches(arrow: Any, file: BinaryIO) -> tuple[Any, Iterator[Any]]:
    """Return the schema and the record batches, each read when it is asked for."""
    file.seek(0)
    whole = file.read(8) == FILE_MARK
    file.seek(0)
    if not whole:
        stream = arrow.ipc.open_stream(file)
        return stream.schema, iter(stream)
    found = arrow.ipc.open_file(file)
    return found.schema, map(found.get_batch, range(found.num_record_batches))


def _read_batches(
    path: Path, schema: Any, batches: Iterable[Any], nested: bool, most: int | None
) -> Rows:
    _check_columns(path, schema, nested)
    names = schema.names
    number = total = 0
    for batch in batches:
        batch.validate(full=True)  # an offset that leads elsewhere would be followed
        for start in range(0, batch.num_rows, _MEASURED_ROWS):
            part = batch.slice(start, _MEASURED_ROWS)
            sizes = _measure_rows(part)
            total += int(sizes.sum())
            if most is not None and total > most:
                shown = show_size(most)
                raise refuse(path, f"over {shown} when unpacked", f"at most {shown}: {_ADVICE}")
            for first, end in _cut_pages(path, number, sizes.tolist()):
                page = part.slice(first, end - first)
                columns = [_adapt(column).to_pylist() for column in page.columns]
                for values in zip(*columns, strict=True):
                    number += 1
                    yield number, dict(zip(names, values, strict=True))


def _check_columns(path: Path, schema: Any, nested: bool) -> None:
    if not len(schema):
        raise refuse(path, "no column", "columns named like the fields")
    if len(schema) > MAX_COLUMNS:
        raise refuse(path, f"{len(schema):,} columns", f"at most {MAX_COLUMNS}")
    seen: set[str] = set()
    for field in schema:
        if field.name in seen:
            raise refuse(path, f"the column {field.name[:80]!r} twice", "each column once")
        seen.add(field.name)
        if not _is_read(field.type, nested):
            found = f"the column {field.name[:80]!r} of the type {str(field.type)[:80]}"
            expected = "text, numbers, true or false, or times; put nested records into JSON Lines"
            raise refuse(path, found, expected)


def _is_read(kind: Any, nested: bool) -> bool:
    types = import_module("pyarrow.types")
    if types.is_dictionary(kind):
        return _is_text(kind.value_type)
    if types.is_struct(kind) or _is_list(kind):
        return nested and all(
            _is_read(kind.field(number).type, nested) for number in range(kind.num_fields)
        )
    plain = (types.is_null, types.is_boolean, types.is_integer, types.is_floating,
             types.is_decimal, types.is_temporal, _is_text)  # fmt: skip
    return any(is_it(kind) for is_it in plain)


def _is_list(kind: Any) -> bool:
    types = import_module("pyarrow.types")
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_text(kind: Any) -> bool:
    types = import_module("pyarrow.types")
    whole = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    return _is_view(kind) or any(is_it(kind) for is_it in whole)


def _is_view(kind: Any) -> bool:
    types = import_module("pyarrow.types")
    return bool(types.is_string_view(kind) or types.is_binary_view(kind))


def _measure_rows(batch: Any) -> NDArray[np.int64]:
    import numpy as np

    start = np.zeros(batch.num_rows, np.int64)
    return sum((_measure(column) for column in batch.columns), start)


def _measure(array: Any) -> NDArray[np.int64]:
    """Return the bytes that each value takes as Python's, counted without making any of them."""
    import numpy as np

    compute, types = import_module("pyarrow.compute"), import_module("pyarrow.types")
    kind = array.type
    plain = np.full(len(array), _VALUE_BYTES, np.int64)
    if not len(array):
        return plain
    if _is_view(kind):
        # A view begins with its length.
        views = np.frombuffer(array.buffers()[1], np.int32)[::4]
        lengths = views[array.offset : array.offset + len(array)]
        return plain + np.where(compute.is_valid(array).to_numpy(zero_copy_only=False), lengths, 0)
    if types.is_dictionary(kind):
        if not len(array.dictionary):  # all are null
            return plain
        places = compute.fill_null(array.indices, 0).to_numpy(zero_copy_only=False)
        known = compute.is_valid(array.indices).to_numpy(zero_copy_only=False)
        return np.where(known, _measure(array.dictionary)[places], plain)
    if _is_text(kind):
        lengths = compute.fill_null(compute.binary_length(array), 0).to_numpy(zero_copy_only=False)
        return plain + lengths  # type: ignore[no-any-return]
    if types.is_struct(kind):
        return plain + sum(_measure(child) for child in array.flatten())
    if _is_list(kind):
        counts = compute.fill_null(compute.list_value_length(array), 0).to_numpy(
            zero_copy_only=False
        )
        ends = np.cumsum(counts, dtype=np.int64)
        sizes = np.concatenate([[0], np.cumsum(_measure(array.flatten()))])
        return plain + sizes[ends] - sizes[ends - counts]  # type: ignore[no-any-return]
    return plain


def _cut_pages(path: Path, before: int, sizes: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield first and end of pages: one row, or as many as take no more than a page's bytes."""
    first = row = filled = 0
    for row, size in enumerate(sizes):
        if size > MAX_LINE_BYTES:
            most = show_size(MAX_LINE_BYTES)
            line = before + row + 1
            raise refuse(path, f"a row of over {most}", f"at most {most}", line=line)
        if filled and filled + size > _PAGE_BYTES:
            yield first, row
            first, filled = row, 0
        filled += size
    if filled:
        yield first, row + 1


def _adapt(array: Any) -> Any:
    """Return times as UTC in microseconds, which is what Python's hold; all else as it is."""
    arrow, types = import_module("pyarrow"), import_module("pyarrow.types")
    if not types.is_timestamp(array.type):
        return array
    return array.view(arrow.timestamp(array.type.unit)).cast(arrow.timestamp("us"), safe=False)
