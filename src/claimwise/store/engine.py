"""What the store needs from a database.

An engine runs portable SQL with ``:name`` parameters and hides its driver: its errors become
ours here, at one border. Values go in as Python objects (``datetime`` in UTC without a zone) and
come out as the driver gives them; callers that need a type convert.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import date
from types import MappingProxyType
from typing import Any, Protocol

Params = Mapping[str, Any]
Record = tuple[Any, ...]

NO_PARAMS: Params = MappingProxyType({})

# How long a process waits for another one's transaction before a user hears of it.
BUSY_SECONDS = 60.0


class Engine(Protocol):
    """A connection to one database."""

    name: str
    place: str  # for people: a path, or a URL without its password
    writable: bool

    def query(self, sql: str, params: Params = NO_PARAMS) -> list[Record]:
        """Return all rows of one statement."""

    def stream(self, sql: str) -> Iterator[Record]:
        """Yield the rows of one statement page by page. Call it inside :meth:`snapshot`."""

    def describe(self, sql: str, params: Params = NO_PARAMS) -> list[str]:
        """Return the column names of one statement without running it in full."""

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        """Run one statement; return how many rows it changed."""

    def run_script(self, sql: str) -> None:
        """Run several statements without parameters inside the current transaction."""

    def encode_time(self, moment: date) -> object:
        """Return a day or a time (UTC, without zone) as ``insert_rows`` takes it."""

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[Record]) -> None:
        """Insert many rows as fast as the database can."""

    def write(self, turn: str | None = None) -> AbstractContextManager[None]:
        """Open a transaction that writes: committed on success, rolled back on any error.

        Writers take turns. Where the database can, those that name a turn wait only for others
        of the same name and for those that name none; what they share they must guard by the
        conditions of their updates.
        """

    def migrate(self) -> AbstractContextManager[None]:
        """Open a transaction that changes the schema while nobody else does."""

    def create_stage(self, name: str, select: str) -> None:
        """Make a temporary table with the columns of a select."""

    def drop_stages(self) -> None:
        """Drop all temporary tables."""

    def stage(self) -> AbstractContextManager[None]:
        """Open a transaction on temporary tables alone, in nobody's way."""

    def snapshot(self) -> AbstractContextManager[None]:
        """Show one state of the data to all queries inside, whatever others write."""

    def has_table(self, table: str) -> bool:
        """Return whether a table or view of that name exists."""

    def is_in_place(self) -> bool:
        """Return whether what the connection has open is still what its place names."""

    def shed_memory(self) -> None:
        """Give back memory that is kept only to make later queries faster."""

    def close(self) -> None:
        """Close the connection."""
