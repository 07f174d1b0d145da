"""The engine for teams: PostgreSQL through asyncpg.

asyncpg is the maintained driver with a permissive licence. It is asynchronous; the rest of
claimwise is not, so each engine keeps a private event loop and enters it for one call at a time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from claimwise.errors import MissingExtraError, StoreBusyError, StoreError, StoreFullError
from claimwise.store.engine import NO_PARAMS, Params, Record
from claimwise.store.parameters import number_parameters

if TYPE_CHECKING:
    import asyncpg

T = TypeVar("T")
_PAGE = 10_000
_CONNECT_SECONDS = 15


def hide_password(url: str) -> str:
    """Return a database URL that may be printed."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    port = f":{parts.port}" if parts.port else ""
    user = f"{parts.username}@" if parts.username else ""
    query = urlencode([(k, v) for k, v in parse_qsl(parts.query) if k != "password"])
    return urlunsplit((parts.scheme, f"{user}{host}{port}", parts.path, query, ""))


def _split_schema(url: str) -> tuple[str, str | None]:
    """Take our own ``schema`` option off a URL that is otherwise the driver's business."""
    parts = urlsplit(url)
    options = parse_qsl(parts.query)
    schema = dict(options).get("schema")
    rest = urlencode([pair for pair in options if pair[0] != "schema"])
    return urlunsplit(parts._replace(query=rest)), schema


class PostgresEngine:
    """One PostgreSQL connection. ``?schema=NAME`` in the URL keeps several stores apart."""

    name = "postgresql"
    writable = True

    def __init__(self, url: str, *, create: bool) -> None:
        try:
            import asyncpg
        except ImportError as error:
            raise MissingExtraError("a PostgreSQL store", "postgres") from error
        self._asyncpg = asyncpg
        self.place = hide_password(url)
        self._stages: list[str] = []
        self._loop = asyncio.new_event_loop()
        try:
            with self._errors():
                self._db: asyncpg.Connection = self._run(self._connect(url, create=create))
        except BaseException:
            self._loop.close()
            raise

    async def _connect(self, url: str, *, create: bool) -> Any:
        dsn, schema = _split_schema(url)
        db = await self._asyncpg.connect(dsn, timeout=_CONNECT_SECONDS)
        if schema:
            quoted = '"' + schema.replace('"', '""') + '"'
            if create:
                await db.execute(f"create schema if not exists {quoted}")
            await db.execute(f"set search_path to {quoted}")
        return db

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)

    def query(self, sql: str, params: Params = NO_PARAMS) -> list[Record]:
        """Return all rows of one statement."""
        numbered, names = number_parameters(sql)
        with self._errors():
            rows = self._run(self._db.fetch(numbered, *[params[name] for name in names]))
        return [tuple(row) for row in rows]

    def stream(self, sql: str) -> Iterator[Record]:
        """Yield the rows of one statement page by page."""
        with self._errors():
            cursor = self._run(self._db.cursor(sql))
            while page := self._run(cursor.fetch(_PAGE)):
                yield from (tuple(row) for row in page)

    def describe(self, sql: str, params: Params = NO_PARAMS) -> list[str]:
        """Return the column names of one select without running it."""
        numbered, _ = number_parameters(f"select * from (\n{sql}\n) as described")
        with self._errors():
            prepared = self._run(self._db.prepare(numbered))
            return [attribute.name for attribute in prepared.get_attributes()]

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        """Run one statement; return how many rows it changed."""
        numbered, names = number_parameters(sql)
        with self._errors():
            status = self._run(self._db.execute(numbered, *[params[name] for name in names]))
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else -1

    def run_script(self, sql: str) -> None:
        """Run several statements without parameters inside the current transaction."""
        with self._errors():
            self._run(self._db.execute(sql))

    def encode_time(self, moment: date) -> object:
        """Return a day or a time as it is: the driver knows both."""
        return moment

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[Record]) -> None:
        """Copy rows in by PostgreSQL's binary COPY."""
        with self._errors():
            self._run(
                self._db.copy_records_to_table(table, columns=list(columns), records=iter(rows))
            )

    @contextmanager
    def write(self) -> Iterator[None]:
        """Open a transaction that writes: committed on success, rolled back on any error."""
        transaction = self._db.transaction()
        with self._errors():
            self._run(transaction.start())
        try:
            yield
        except BaseException:
            self._run(transaction.rollback())
            raise
        with self._errors():
            self._run(transaction.commit())

    def create_stage(self, name: str, select: str) -> None:
        """Make a temporary table with the columns of a select."""
        self._stages.append(name)
        self.run_script(f"create temporary table {name} as {select}")

    def drop_stages(self) -> None:
        """Drop all temporary tables."""
        while self._stages:
            self.run_script(f"drop table if exists pg_temp.{self._stages.pop()}")

    def stage(self) -> AbstractContextManager[None]:
        """Open a transaction: PostgreSQL's locks are per row, so temporary tables bother nobody."""
        return self.write()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show one state of the data to all queries inside, whatever others write."""
        transaction = self._db.transaction(isolation="repeatable_read", readonly=True)
        with self._errors():
            self._run(transaction.start())
        try:
            yield
        finally:
            self._run(transaction.rollback())

    def has_table(self, table: str) -> bool:
        """Return whether a table or view of that name is on the search path."""
        return bool(self.query("select 1 where to_regclass(:name) is not null", {"name": table}))

    def close(self) -> None:
        """Close the connection."""
        if not self._loop.is_closed():
            self._run(self._db.close(timeout=5))
            self._loop.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        errors = self._asyncpg.exceptions
        try:
            yield
        except (errors.DiskFullError, errors.OutOfMemoryError) as error:
            raise StoreFullError(f"{self.place}: no space left; nothing was changed") from error
        except (errors.LockNotAvailableError, errors.TooManyConnectionsError) as error:
            raise StoreBusyError(f"{self.place}: {error}; try again in a moment") from error
        except errors.ReadOnlySQLTransactionError as error:
            raise StoreError(
                f"{self.place}: the store is read-only; nothing was changed"
            ) from error
        except (errors.PostgresError, errors.InterfaceError) as error:
            raise StoreError(f"{self.place}: {error}") from error
        except (OSError, TimeoutError) as error:
            raise StoreError(
                f"{self.place}: no answer from the database ({type(error).__name__}: {error}); "
                "is it running, and are host and port right?"
            ) from error
