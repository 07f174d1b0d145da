"""Puts incoming rows, in whatever order, into temporary tables: one for each type of row."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from operator import itemgetter
from typing import Final

import msgspec

from claimwise.store.checks import Violation
from claimwise.store.engine import Engine, Record
from claimwise.types.rows import Row, column_types, written_columns

BATCH: Final = 20_000
"""So many rows are written at once."""
_MOST_TIMES = 1_000  # that are remembered as they are written: files repeat them


@dataclass(slots=True)
class Stage:
    """The incoming rows of one type, in a temporary table."""

    row_type: type[Row]
    columns: tuple[str, ...]
    times: tuple[int, ...]
    read: int = 0
    buffer: list[Record] = field(default_factory=list)
    encoded: dict[date, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The temporary table."""
        return f"stage_{self.row_type.table}"


def open_stage(engine: Engine, row_type: type[Row]) -> Stage:
    """Make the temporary table for rows of one type."""
    columns = written_columns(row_type)
    types = column_types(row_type)
    times = tuple(n for n, column in enumerate(columns) if issubclass(types[column], date))
    stage = Stage(row_type, columns, times)
    engine.create_stage(
        stage.name,
        f"select {', '.join(columns)}, 0 as file_no, 0 as line_no "
        f"from {row_type.table} where false",
    )
    return stage


def add_to_stage(
    engine: Engine, stage: Stage, row: Row, file_no: int | None, line_no: int | None
) -> None:
    """Take one row; it is written with others, at the latest by :func:`flush_stage`.

    Raises:
        OverflowError: it has a time that has no name in UTC.
    """
    values = [*msgspec.structs.astuple(row)[: len(stage.columns)], file_no, line_no]
    for n in stage.times:
        if values[n] is not None:
            values[n] = _encode_time(engine, stage, values[n])
    stage.buffer.append(tuple(values))
    if len(stage.buffer) >= BATCH:
        flush_stage(engine, stage)


def _encode_time(engine: Engine, stage: Stage, moment: date) -> object:
    known = stage.encoded.get(moment)
    if known is None:
        if len(stage.encoded) >= _MOST_TIMES:
            stage.encoded.clear()
        known = stage.encoded[moment] = engine.encode_time(_to_utc(moment))
    return known


def _to_utc(moment: date) -> date:
    """Return a time in UTC without a zone, as it is stored; without a zone it is UTC already."""
    if isinstance(moment, datetime) and moment.tzinfo is not None:
        return moment.astimezone(UTC).replace(tzinfo=None)
    return moment


def flush_stage(engine: Engine, stage: Stage) -> None:
    """Write the buffered rows, without the columns that none of them fills: binding costs."""
    if not stage.buffer:
        return
    columns = (*stage.columns, "file_no", "line_no")
    used = [n for n in range(len(columns)) if any(row[n] is not None for row in stage.buffer)]
    with engine.stage():
        engine.insert_rows(
            stage.name, itemgetter(*used)(columns), map(itemgetter(*used), stage.buffer)
        )
    stage.read += len(stage.buffer)
    stage.buffer.clear()


def describe_overflow(stage: Stage, row: Row, file_no: int, line_no: int) -> Violation:
    """Describe a time that has no name in UTC, as the first hours of year 1 in the east."""
    name = stage.columns[stage.times[0]]
    found = str(getattr(row, name))
    return Violation(file_no, line_no, name, found, "a time of the years 1 to 9999")
