"""The engine for teams: PostgreSQL through asyncpg.

asyncpg is the maintained driver with a permissive licence. It is asynchronous; the rest of
claimwise is not, so each engine keeps a private event loop and enters it for one call at a time.
"""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl, urlencode

from claimwise.errors import MissingExtraError, StoreBusyError, StoreError, StoreFullError
from claimwise.store.engine import BUSY_SECONDS, NO_PARAMS, Params, Record
from claimwise.store.parameters import number_parameters

if TYPE_CHECKING:
    import asyncpg

T = TypeVar("T")
_PASSWORD = re.compile(r"(?P<start>\w+://)(?P<user>[^:/@]*):.*@")
_OWN_SQL = re.compile(r"/\*postgresql\b(.*?)\*/", re.DOTALL)
_TEXT_COLUMN = re.compile(r"^(    \w+ text)\b", re.MULTILINE)
_PAGE = 10_000
_CONNECT_SECONDS = 15
_WORK_MEMORY = "64MB"  # the server's own default makes counting a million labels spill to disk
_WRITE_LOCK = 0x636C6169  # any number that other programs are unlikely to choose


def hide_password(url: str) -> str:
    """Return a database URL that may be printed, malformed ones included.

    Whatever stands between the user's name and the last ``@`` is a password, and so is every
    option whose name says so.
    """
    address, mark, query = url.partition("?")
    found = _PASSWORD.match(address)
    if found:
        user = f"{found['user']}@" if found["user"] else ""
        address = found["start"] + user + address[found.end() :]
    options = [option for option in _split_options(query) if "password" not in option[0].lower()]
    return address + (mark + urlencode(options) if options else "")


def _split_options(query: str) -> list[tuple[str, str]]:
    return parse_qsl(query, keep_blank_values=True)


def _split_schema(url: str) -> tuple[str, str | None]:
    """Take our own ``schema`` option off a URL that is otherwise the driver's business."""
    address, mark, query = url.partition("?")
    options = _split_options(query)
    schema = dict(options).get("schema")
    rest = urlencode([option for option in options if option[0] != "schema"])
    return address + (mark + rest if rest else ""), schema


def _read_number(text: str) -> int | float:
    return float(text) if "." in text or not text.lstrip("-").isdigit() else int(text)


class PostgresEngine:
    """One PostgreSQL connection. ``?schema=NAME`` in the URL keeps several stores apart."""

    name = "postgresql"
    writable = True

    def __init__(self, url: str, *, create: bool, busy_seconds: float = BUSY_SECONDS) -> None:
        try:
            import asyncpg
        except ImportError as error:
            raise MissingExtraError("a PostgreSQL store", "postgres") from error
        self._asyncpg = asyncpg
        self.place = hide_password(url)
        self._busy_seconds = busy_seconds
        self._busy_ms = int(busy_seconds * 1000)
        self._stages: list[str] = []
        self._loop = asyncio.new_event_loop()
        try:
            with self._errors():
                self._db: asyncpg.Connection = self._run(self._connect(url, create=create))
        except (ValueError, OverflowError) as error:  # the latter: a port above 65535
            self._loop.close()
            expected = "postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
            raise StoreError(f"{self.place}: malformed URL; write {expected}") from error
        except BaseException:
            self._loop.close()
            raise

    async def _connect(self, url: str, *, create: bool) -> Any:
        dsn, schema = _split_schema(url)
        db = await self._asyncpg.connect(
            dsn, timeout=_CONNECT_SECONDS, server_settings={"work_mem": _WORK_MEMORY}
        )
        # Sums come as decimals, which nothing else here speaks.
        await db.set_type_codec(
            "numeric", schema="pg_catalog", format="text", encoder=str, decoder=_read_number
        )
        if schema:
            quoted = '"' + schema.replace('"', '""') + '"'
            if create:
                # “if not exists” alone fails when two processes come at the same moment.
                async with db.transaction():
                    await db.execute(
                        f"select pg_advisory_xact_lock({_WRITE_LOCK}, hashtext($1))", schema
                    )
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
        while True:
            with self._errors():
                page = self._run(cursor.fetch(_PAGE))
            if not page:
                return
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
        """Run several statements without parameters inside the current transaction.

        Text columns of new tables sort by their bytes, as in SQLite, whatever the database's own
        collation: which label decides and how exports are ordered must not depend on it.
        What stands in a comment that begins with the word postgresql is for PostgreSQL alone.
        """
        opened = _OWN_SQL.sub(r"\1", sql)
        with self._errors():
            self._run(self._db.execute(_TEXT_COLUMN.sub(r'\1 collate "C"', opened)))

    def encode_time(self, moment: date) -> object:
        """Return a day or a time as it is: the driver knows both."""
        return moment

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[Record]) -> None:
        """Copy rows in by PostgreSQL's binary COPY."""
        with self._errors():
            self._run(
                self._db.copy_records_to_table(table, columns=list(columns), records=iter(rows))
            )

    def write(self, turn: str | None = None) -> AbstractContextManager[None]:
        """Open a transaction that writes. Writers take turns, as in SQLite.

        Otherwise what one import has checked, another could change before the first is done.
        Writers that name a turn share the lock with those of other names: fifty people who save
        labels need not wait for each other's disks.
        """
        lock = f"{_WRITE_LOCK}, hashtext(current_schema())"
        locks = f"select pg_advisory_xact_lock({lock})"
        if turn is not None:
            own = zlib.crc32(turn.encode()) - 2**31
            locks = (
                f"select pg_advisory_xact_lock_shared({lock}); "
                f"select pg_advisory_xact_lock(hashtext(current_schema()), {own})"
            )
        return self._transaction(f"set local lock_timeout = '{self._busy_ms}ms'; {locks}")

    @contextmanager
    def _transaction(self, first: str = "") -> Iterator[None]:
        """Open a transaction; what comes first in it goes with the same message."""
        try:
            with self._errors():
                self._run(self._db.execute(f"begin; {first}"))
            yield
            with self._errors():
                self._run(self._db.execute("commit"))
        except BaseException:
            # A connection that is gone took its transaction with it.
            if not self._db.is_closed() and self._db.is_in_transaction():
                with self._errors():
                    self._run(self._db.execute("rollback"))
            raise

    def migrate(self) -> AbstractContextManager[None]:
        """Open a transaction that changes the schema while nobody else does."""
        return self.write()

    def create_stage(self, name: str, select: str) -> None:
        """Make a temporary table with the columns of a select."""
        self._stages.append(name)
        self.run_script(f"create temporary table {name} as {select}")

    def drop_stages(self) -> None:
        """Drop all temporary tables."""
        while self._stages:
            self.run_script(f"drop table if exists pg_temp.{self._stages.pop()}")

    def stage(self) -> AbstractContextManager[None]:
        """Open a transaction on temporary tables alone, in nobody's way."""
        return self._transaction()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show one state of the data to all queries inside, whatever others write."""
        transaction = self._db.transaction(isolation="repeatable_read", readonly=True)
        with self._errors():
            self._run(transaction.start())
        try:
            yield
        finally:
            with self._errors():
                self._run(transaction.rollback())

    def has_table(self, table: str) -> bool:
        """Return whether a table or view of that name is on the search path."""
        return bool(self.query("select 1 where to_regclass(:name) is not null", {"name": table}))

    def is_in_place(self) -> bool:
        """Return True: a server that goes away takes its connections along."""
        return True

    def shed_memory(self) -> None:
        """Keep what there is: it does not grow."""

    def close(self) -> None:
        """Close the connection, by force when the driver has lost its way."""
        if self._loop.is_closed():
            return
        try:
            with self._errors():
                self._run(self._db.close(timeout=5))
        except StoreError:
            self._db.terminate()
            self._run(asyncio.sleep(0))  # it ends in the loop's next round
        finally:
            self._loop.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        errors = self._asyncpg.exceptions
        try:
            yield
        except (errors.DiskFullError, errors.OutOfMemoryError) as error:
            raise StoreFullError(f"{self.place}: no space left; nothing was changed") from error
        except (
            errors.LockNotAvailableError,
            errors.DeadlockDetectedError,  # the other one goes on
            errors.TooManyConnectionsError,
        ) as error:
            raise StoreBusyError(
                f"{self.place}: another process has been writing for over "
                f"{self._busy_seconds:g} s, or "
                "there are too many connections; nothing was changed; try again when it is done"
            ) from error
        except errors.ReadOnlySQLTransactionError as error:
            raise StoreError(
                f"{self.place}: the store is read-only; nothing was changed"
            ) from error
        except (
            errors.PostgresError,
            errors.InterfaceError,
            errors.InternalClientError,  # the server said something at a time when it should not
        ) as error:
            first_line = str(error).partition("\n")[0]
            raise StoreError(f"{self.place}: {first_line}") from error
        except (OSError, TimeoutError) as error:
            raise StoreError(
                f"{self.place}: no answer from the database ({type(error).__name__}: {error}); "
                "is it running, and are host and port right?"
            ) from error
