"""What a reader of another package offers, and how what it yields is held to our rules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, Literal, Protocol

import msgspec

from claimwise.errors import Problem
from claimwise.readers.problems import Complaint, holds_nul, make_problem
from claimwise.readers.records import convert
from claimwise.registry import Entry
from claimwise.types.rows import Row
from claimwise.types.traces import Dropped, Recognised, Trace

RecordKind = Literal["rows", "traces"]
Record = Row | Trace | Dropped | Recognised | Problem
Records = Iterator[tuple[int, Record]]

KINDS_OF_RECORDS: tuple[RecordKind, ...] = ("rows", "traces")
_METHODS = ("recognise", "read")


class Reader(Protocol):
    """Turns files of one format into records (group ``claimwise.readers``).

    ``yields`` says which: "rows" of the store's tables, which ``claimwise import`` takes, or
    "traces", one answer each with its question and evidence, which ``claimwise measure`` and
    ``claimwise promote`` take. A reader follows nothing that it reads: no link, no path, no code.
    """

    yields: RecordKind

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Return how sure it is, over 0 and up to 1, that a file is of its format; None: it is not.

        ``head`` holds the first 64 KiB, unpacked; nothing where the file can't be read twice.
        """
        ...

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield records with their lines; a :class:`Problem` stands for one that can't be read.

        A :class:`Dropped` stands for what a reader of traces left out, and is counted. A
        :class:`Recognised` may come first: which fields of the file were taken for what.
        ``options`` holds what the command line says, where it does: "kind", "trace_id", and "map"
        and "values", the user's own names of columns and values (``question=ask,contexts=docs``).
        """
        ...


class OutsideReader:
    """A reader of another package. What it yields is checked; a fault is told as the package's."""

    def __init__(self, entry: Entry, reader: Reader) -> None:
        """Take a reader over.

        Raises:
            PluginError: the reader lacks something.
        """
        self.entry = entry
        self._reader = reader
        for name in _METHODS:
            if not callable(getattr(reader, name, None)):
                raise entry.fail(f"the reader has no method {name}")
        self.yields: RecordKind = getattr(reader, "yields", None)  # type: ignore[assignment]
        if self.yields not in KINDS_OF_RECORDS:
            raise entry.fail(f"the reader yields {self.yields!r}, expected “rows” or “traces”")

    def recognise(self, path: Path, head: bytes) -> float | None:
        """Return how sure the reader is; below 1, which is for names that say it all."""
        found: Any = self.entry.call(self._reader.recognise, path, head)
        if found is None:
            return None
        if not isinstance(found, int | float) or not (isfinite(found) and 0 < found <= 1):
            raise self.entry.fail(f"recognise returned {found!r}, expected 0 to 1, or None")
        return float(found)

    def read(self, path: Path, options: Mapping[str, str]) -> Records:
        """Yield the reader's records; those that break our rules as problems."""
        records = iter(self.entry.call(self._reader.read, path, options))
        while True:
            found = self.entry.call(next, records, None)
            if found is None:
                return
            yield self._check(path, found)

    def _check(self, path: Path, found: Any) -> tuple[int, Record]:
        wanted = Row if self.yields == "rows" else Trace
        if not (isinstance(found, tuple) and len(found) == 2 and isinstance(found[0], int)):
            raise self.entry.fail(f"read yielded {found!r:.80}, expected a line and a record")
        line, record = found
        if isinstance(record, Problem | Dropped | Recognised):
            return line, record
        if not isinstance(record, wanted):
            raise self.entry.fail(
                f"read yielded a {type(record).__name__}, expected a {wanted.__name__} or a Problem"
            )
        try:
            return line, _check_record(record)
        except Complaint as complaint:
            return line, make_problem(path, line, complaint)


def _check_record(record: Row | Trace) -> Row | Trace:
    """Return a record as the built-in readers would have made it.

    Raises:
        Complaint: a value is of a wrong type, or holds what no store takes.
    """
    values = msgspec.structs.asdict(record)
    if holds_nul(msgspec.to_builtins(record)):
        raise Complaint(None, "a NUL character", "text without one")
    if isinstance(record, Row):
        return convert(values, type(record))
    try:
        checked = msgspec.convert(msgspec.to_builtins(record), Trace)
    except msgspec.ValidationError as error:
        raise Complaint(None, str(error), "a trace") from error
    needed = ("question",) if checked.failure else ("question", "answer")
    for name in needed:
        if not values[name].strip():
            raise Complaint(name, "nothing", "text")
    return checked
