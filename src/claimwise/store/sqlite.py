"""The embedded engine: one SQLite file, used by several processes at once."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date, datetime
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from claimwise.errors import (
    NotAStoreError,
    StoreBusyError,
    StoreError,
    StoreFullError,
    StoreReplacedError,
)
from claimwise.store.engine import BUSY_SECONDS, NO_PARAMS, Params, Record
from claimwise.store.search_words import holds_words

_BATCH = 20_000
_STAGING = "staging"
_LABEL_TRIGGER = "claim_index_label_in"
_OWN_SQL = re.compile(r"/\*sqlite\b(.*?)\*/", re.DOTALL)
_TIGHT_BYTES = 256 * 1024  # a disk with so little left is full


class _FileId(NamedTuple):
    """Which file a path names: another one of the same name has another id."""

    device: int
    number: int


class SQLiteEngine:
    """SQLite in WAL mode: readers never wait, writers queue."""

    name = "sqlite"
    writable = True
    keeps_decisions = True

    def __init__(
        self,
        path: Path,
        *,
        create: bool,
        busy_seconds: float = BUSY_SECONDS,
        staging: Path | None = None,
    ) -> None:
        self.place = str(path)
        self._staging = staging  # the file of temporary tables, where another process reads them
        self._path = path.absolute()
        self._log_path = Path(f"{self._path}-wal")
        self._log_id: _FileId | None = None
        self._busy_seconds = busy_seconds
        if not path.exists() and not create:
            raise NotAStoreError(
                f"{path}: no store there; create one with `claimwise init`, or name another with "
                "--store"
            )
        if path.exists() and not path.is_file():
            found = "a folder" if path.is_dir() else "a pipe or a device"
            raise StoreError(
                f"{path}: this is {found}, not a SQLite file; name another with --store"
            )
        if not path.exists():
            _make_private_file(path)
        # A file in WAL mode needs a second one beside it, unless nobody can write there anyway.
        frozen = path.exists() and _is_on_read_only_disk(path)
        before = _identify(self._path)
        with self._errors():
            self._db = sqlite3.connect(
                f"{self._path.as_uri()}?immutable={int(frozen)}",
                uri=True,
                timeout=busy_seconds,
                isolation_level=None,
                check_same_thread=False,
            )
        self._file_id = _identify(self._path)
        try:
            if before not in (None, self._file_id):
                raise StoreReplacedError(
                    f"{path}: the file was replaced while it was opened; try again"
                )
            self._configure()
        except BaseException:
            self._db.close()
            raise

    def _configure(self) -> None:
        self._db.create_function("strpos", 2, _strpos, deterministic=True)
        self._db.create_function("holds_words", 3, holds_words, deterministic=True)
        with self._errors():
            self._db.execute("pragma foreign_keys = on")
            self._db.execute("pragma cache_size = -65536")

    def query(self, sql: str, params: Params = NO_PARAMS) -> list[Record]:
        """Return all rows of one statement."""
        with self._errors():
            return self._db.execute(sql, _adapt_params(params)).fetchall()

    def stream(self, sql: str) -> Iterator[Record]:
        """Yield the rows of one statement page by page."""
        with self._errors():
            cursor = self._db.execute(sql)
        # Nothing is yielded under the error translation: a reader may never come back.
        while True:
            with self._errors():
                page = cursor.fetchmany(_BATCH)
            if not page:
                return
            yield from page

    def describe(self, sql: str, params: Params = NO_PARAMS) -> list[str]:
        """Return the column names of one statement without running it in full."""
        with self._errors():
            cursor = self._db.execute(f"select * from (\n{sql}\n) limit 0", _adapt_params(params))
            return [column[0] for column in cursor.description]

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        """Run one statement; return how many rows it changed."""
        with self._errors():
            return self._db.execute(sql, _adapt_params(params)).rowcount

    def run_script(self, sql: str) -> None:
        """Run several statements. ``executescript`` would commit first, so they go one by one.

        What stands in a comment that begins with the word sqlite is for SQLite alone.
        """
        opened = _OWN_SQL.sub(r"\1", sql)
        with self._errors():
            for statement in _split_statements(opened):
                self._db.execute(statement)

    def encode_time(self, moment: date) -> object:
        """Return a day or a time as text."""
        return _to_text(moment)

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[Record]) -> None:
        """Insert rows in batches, so that a file of any length needs little memory."""
        marks = ", ".join("?" * len(columns))
        sql = f"insert into {table} ({', '.join(columns)}) values ({marks})"
        source = iter(rows)
        with self._errors():
            while batch := list(islice(source, _BATCH)):
                self._db.executemany(sql, batch)

    @contextmanager
    def write(self, turn: str | None = None) -> Iterator[None]:
        """Take the write lock at once: a lock taken half way could only fail.

        There is one lock, so all writers take turns, whatever turns they name.

        Raises:
            StoreReplacedError: the file is no longer where others look for it. SQLite goes on
                writing to a deleted file without a word, so this is asked after each commit.
        """
        with self._transaction("begin immediate"):
            self._log_id = self._log_id or _identify(self._log_path)
            yield
        if not self.is_in_place():
            raise StoreReplacedError(
                f"{self.place}: the file was deleted or replaced while it was in use; what was "
                "written just now is not in the store: put the file back and try again"
            )

    @contextmanager
    def write_known(self) -> Iterator[None]:
        """Open a transaction for rows whose parents were looked up: SQLite need not do it again.

        Meanwhile no trigger looks at each new label by itself.
        """
        with self._errors():
            self._db.execute("pragma foreign_keys = off")
        try:
            with self.write():
                [(trigger,)] = self.query(
                    "select sql from sqlite_master where name = :name", {"name": _LABEL_TRIGGER}
                )
                self.execute(f"drop trigger {_LABEL_TRIGGER}")
                yield
                self.execute(trigger)
        finally:
            self._db.execute("pragma foreign_keys = on")

    def attach_part(self, name: str, path: Path) -> None:
        """Open the tables that another process staged."""
        with self._errors():
            self._db.execute(f"attach :path as {name}", {"path": str(path)})

    def detach_part(self, name: str) -> None:
        """Close the tables that another process staged."""
        with self._errors():
            self._db.execute(f"detach {name}")

    @contextmanager
    def migrate(self) -> Iterator[None]:
        """Write the schema alone. WAL is a property of the file, so it is set once, here.

        A table is changed by rebuilding it under its old name (SQLite's documented way), for
        which foreign keys must be off, and views that name the table must not be looked at. Both
        are settings of the connection; the keys are checked before the transaction ends.
        """
        with self._errors():
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma foreign_keys = off")
            self._db.execute("pragma legacy_alter_table = on")
        try:
            with self.write():
                yield
                self._check_foreign_keys()
        finally:
            self._db.execute("pragma legacy_alter_table = off")
            self._db.execute("pragma foreign_keys = on")

    def _check_foreign_keys(self) -> None:
        broken = self.query("pragma foreign_key_check")
        if broken:
            raise StoreError(
                f"{self.place}: {len(broken):,} rows, the first in {broken[0][0]}, refer to rows "
                f"of {broken[0][2]} that are not there; nothing was changed: restore a backup"
            )

    def create_stage(self, name: str, select: str) -> None:
        """Make a temporary table in a file of its own, which goes away as a whole."""
        with self._errors():
            attached = {row[1] for row in self._db.execute("pragma database_list")}
            if _STAGING not in attached:
                self._db.execute(f"attach :path as {_STAGING}", {"path": str(self._staging or "")})
                if self._staging is not None:  # what is lost in a crash is not missed
                    self._db.execute(f"pragma {_STAGING}.journal_mode = off")
                    self._db.execute(f"pragma {_STAGING}.synchronous = off")
            self._db.execute(f"create table {_STAGING}.{name} as {select}")

    def analyze_stage(self, name: str) -> None:
        """Do nothing: queries are written so that this planner finds its way."""

    def drop_stages(self) -> None:
        """Drop all temporary tables."""
        with self._errors():
            if any(row[1] == _STAGING for row in self._db.execute("pragma database_list")):
                self._db.execute(f"detach {_STAGING}")

    def stage(self) -> AbstractContextManager[None]:
        """Open a transaction that takes no lock until something but a temporary table changes."""
        return self._transaction("begin")

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[None]:
        with self._errors():
            self._db.execute(begin)
        try:
            yield
            with self._errors():
                self._db.execute("commit")
        except BaseException:
            if self._db.in_transaction:
                self._db.execute("rollback")
            raise

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Show one state of the data to all queries inside, whatever others write."""
        with self._errors():
            self._db.execute("begin")
        try:
            yield
        finally:
            self._db.execute("rollback")

    def has_table(self, table: str) -> bool:
        """Return whether a table or view of that name exists."""
        found = self.query(
            "select 1 from sqlite_master where type in ('table', 'view') and name = :name",
            {"name": table},
        )
        return bool(found)

    def is_in_place(self) -> bool:
        """Return whether the open file, and its log of newest changes, are still at their paths."""
        if _identify(self._path) != self._file_id:
            return False
        return self._log_id in (None, _identify(self._log_path))

    def shed_memory(self) -> None:
        """Empty the cache of pages, which else grows to its limit in a process that never ends."""
        with self._errors():
            self._db.execute("pragma shrink_memory")

    def close(self) -> None:
        """Close the connection.

        When another file has taken the place of ours, what our log holds goes into our own file
        first: SQLite would take the log that lies there for the new file's, and mix the two.
        """
        if _identify(self._path) != self._file_id:
            with suppress(sqlite3.Error):  # others read the old file: the last one to close does it
                self._db.execute("pragma wal_checkpoint(truncate)")
        self._db.close()

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            raise self._translate(error) from error

    def _translate(self, error: sqlite3.DatabaseError) -> StoreError:
        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        if primary in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            return StoreBusyError(
                f"{self.place}: another process has been writing for over "
                f"{self._busy_seconds:g} s; nothing was changed; try again when it is done"
            )
        if primary == sqlite3.SQLITE_FULL:
            return StoreFullError(f"{self.place}: {self._describe_full_disk()}")
        if primary == sqlite3.SQLITE_IOERR:
            return self._explain_failed_disk(error)
        if primary == sqlite3.SQLITE_READONLY:
            return StoreError(f"{self.place}: the store is read-only; nothing was changed")
        if primary == sqlite3.SQLITE_NOTADB:
            return NotAStoreError(f"{self.place}: not a SQLite file; name another with --store")
        if primary == sqlite3.SQLITE_CANTOPEN:
            return StoreError(
                f"{self.place}: can't be opened; does the folder exist and may you write there?"
            )
        if "fts5" in str(error):
            return StoreError(
                f"{self.place}: the SQLite of this Python has no full-text search (FTS5), which "
                "finds claims; use another Python, or a PostgreSQL store"
            )
        return StoreError(f"{self.place}: {error}")

    def _describe_full_disk(self) -> str:
        if self._count_free_bytes() > _TIGHT_BYTES:
            return (
                "no space left for temporary files; nothing was changed: free some, or name a "
                "larger folder in the variable SQLITE_TMPDIR"
            )
        return "no space left on the disk; nothing was changed"

    def _explain_failed_disk(self, error: sqlite3.DatabaseError) -> StoreError:
        """Tell a full disk, on which not even reading works, from a broken one."""
        if self._count_free_bytes() <= _TIGHT_BYTES:
            return StoreFullError(
                f"{self.place}: no space left on the disk; nothing was changed: even reading "
                "needs a few kilobytes beside the store, so free some and try again"
            )
        return StoreError(
            f"{self.place}: the disk failed ({error.sqlite_errorname}); nothing was changed: "
            "check the disk or the network drive, then run `claimwise doctor`"
        )

    def _count_free_bytes(self) -> int:
        try:
            return shutil.disk_usage(Path(self.place).absolute().parent).free
        except OSError:
            return sys.maxsize


def _make_private_file(path: Path) -> None:
    """Make a store's file for its owner alone; what SQLite puts beside it is as private."""
    # Where it can't be made, SQLite finds the words for it.
    with suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _identify(path: Path) -> _FileId | None:
    """Return which file a path names; None when it names none that we may see."""
    try:
        found = path.stat()
    except OSError:
        return None
    return _FileId(found.st_dev, found.st_ino)


def _is_on_read_only_disk(path: Path) -> bool:
    return bool(os.statvfs(path).f_flag & os.ST_RDONLY) if hasattr(os, "statvfs") else False


def _split_statements(script: str) -> Iterator[str]:
    """Yield the statements of a script. A semicolon in text or comment does not end one."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement


def _strpos(text: str | None, part: str | None) -> int | None:
    """PostgreSQL's and DuckDB's function; SQLite's own ``instr`` is slow on long documents."""
    return None if text is None or part is None else text.find(part) + 1


def _adapt_params(params: Params) -> dict[str, object]:
    return {
        name: _to_text(value) if isinstance(value, date) else value
        for name, value in params.items()
    }


def _to_text(moment: date) -> str:
    """Write times as PostgreSQL prints them, so that both engines slice and sort alike."""
    return moment.isoformat(sep=" ") if isinstance(moment, datetime) else moment.isoformat()
