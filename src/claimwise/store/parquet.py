"""The engine for scale: DuckDB over a folder of Parquet files, read-only.

``claimwise export --format parquet FOLDER`` writes such a folder: one file per kind of row, with
the columns of its table. The same metric files run over it, in bounded memory.
"""

from __future__ import annotations

import os
import re
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from datetime import date, datetime
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NoReturn, Protocol

from msgspec.structs import fields

from claimwise.disk.duckdb_files import (
    add_url_files,
    connect_duckdb,
    name_paths,
    open_for_duckdb,
    silence,
)
from claimwise.disk.urls import is_url, open_url, show_url, url_errors
from claimwise.errors import NotAStoreError, StoreError
from claimwise.store.engine import NO_PARAMS, Params, Record
from claimwise.store.files import SqlFolder
from claimwise.store.parameters import find_parameters, rewrite_parameters
from claimwise.types.rows import (
    ROW_TYPES,
    GoldSpanVersion,
    ItemRetirement,
    Row,
    TrafficAnswer,
    column_types,
)

if TYPE_CHECKING:
    import numpy as np
    from duckdb import DuckDBPyConnection
    from numpy.typing import NDArray

_NO_TABLE = re.compile(r"Table with name (\w+) does not exist")
_NEW_TABLE = re.compile(r"^create (?:virtual )?table (\w+)", re.MULTILINE)
DEFAULT_MEMORY: Final = "2GB"
_PAGE = 10_000
_SQL_TYPES: Final = {
    str: "varchar", bool: "boolean", int: "bigint", float: "double", date: "date",
    datetime: "timestamp",
}  # fmt: skip


# Tables that exports of old versions lack.
_LATER: tuple[type[Row], ...] = (GoldSpanVersion, ItemRetirement, TrafficAnswer)


def _list_optional(row_type: type[Row]) -> list[tuple[str, str]]:
    """Return the columns that may be null, with their types: exports of old versions lack some."""
    types = column_types(row_type)
    return [(f.name, _SQL_TYPES[types[f.name]]) for f in fields(row_type) if f.default is None]


class _Folder(Protocol):
    """Where the files are."""

    def has(self, file: str) -> bool:
        """Return whether a file is there."""
        ...

    def open(self, file: str) -> str:
        """Return the name by which DuckDB finds a file."""
        ...


class _LocalFolder:
    def __init__(self, folder: Path, handles: ExitStack) -> None:
        self._folder = folder
        self._handles = handles

    def has(self, file: str) -> bool:
        return (self._folder / file).is_file()

    def open(self, file: str) -> str:
        return self._handles.enter_context(open_for_duckdb(self._folder / file))


class _UrlFolder:
    def __init__(self, url: str, database: DuckDBPyConnection) -> None:
        self._url = url
        self._filesystem, root = open_url(url)
        self._root = root.rstrip("/")
        self._add = add_url_files(database, self._filesystem)

    def has(self, file: str) -> bool:
        with url_errors(self._url):
            return bool(self._filesystem.isfile(f"{self._root}/{file}"))

    def open(self, file: str) -> str:
        with url_errors(self._url):
            return self._add(f"{self._root}/{file}")


def _open_folder(place: str, database: DuckDBPyConnection, handles: ExitStack) -> _Folder:
    return _UrlFolder(place, database) if is_url(place) else _LocalFolder(Path(place), handles)


class ParquetEngine:
    """An in-memory DuckDB whose tables are views of Parquet files."""

    name = "duckdb"
    writable = False

    def __init__(self, place: str, *, memory: str | None = None) -> None:
        self.keeps_decisions = True
        self._handles = ExitStack()
        # What does not fit goes to disk, and is gone with the connection.
        spilled = self._handles.enter_context(TemporaryDirectory(prefix="claimwise-"))
        self._db = connect_duckdb(
            "a Parquet store",
            memory_limit=memory or DEFAULT_MEMORY,
            temp_directory=spilled,
            preserve_insertion_order="false",
        )
        # The files that are open don't change: how they are laid out is read once.
        self._set_if_known("parquet_metadata_cache = true")
        self._paths: dict[str, str] = {}
        self.place = f"parquet:{show_url(place)}" if is_url(place) else place
        try:
            self._open_files(_open_folder(place, self._db, self._handles))
        except BaseException:
            self.close()
            raise

    def _open_files(self, folder: _Folder) -> None:
        if not folder.has("runs.parquet"):
            raise NotAStoreError(
                f"{self.place}: no runs.parquet there; name a SQLite file, or a folder or URL with "
                "what `claimwise export --format parquet` or `claimwise verify --output` wrote"
            )
        for row_type in ROW_TYPES:
            self._open_file(row_type, folder)

    def _open_file(self, row_type: type[Row], folder: _Folder) -> None:
        """Define a table; what the claimwise which exported it did not know is null, or empty."""
        file = f"{row_type.kind}.parquet"
        shown = f"{self.place.rstrip('/')}/{file}"
        if not folder.has(file) and row_type in _LATER:
            columns = ", ".join(
                f"cast(null as {_SQL_TYPES[kind]}) as {column}"
                for column, kind in column_types(row_type).items()
            )
            self._db.execute(f"create view {row_type.table} as select {columns} where false")
            return
        if not folder.has(file):
            raise NotAStoreError(f"{shown}: no such file; export the store to Parquet again")
        try:
            name = folder.open(file)
        except OSError as error:
            raise StoreError(f"{shown}: {error.strerror}") from error
        self._paths[name] = shown
        with self._errors():
            described = self._db.execute(f"describe select * from read_parquet('{name}')")
            found = {row[0] for row in described.fetchall()}
            if "decides" in row_type.kept and "decides" not in found:
                self.keeps_decisions = False
            added = "".join(
                f", cast(null as {kind}) as {column}"
                for column, kind in _list_optional(row_type)
                if column not in found
            )
            self._db.execute(
                f"create view {row_type.table} as select *{added} from read_parquet('{name}')"
            )

    def query(self, sql: str, params: Params = NO_PARAMS) -> list[Record]:
        """Return all rows of one statement."""
        wanted = {name: params[name] for name in find_parameters(sql)}
        with self._errors():
            return self._db.execute(rewrite_parameters(sql, "${}".format), wanted).fetchall()

    def query_numbers(self, sql: str, several: Sequence[Params]) -> Iterator[NDArray[np.float64]]:
        """Yield the rows of a statement for several parameters, as columns; null is NaN.

        All columns are numbers. As many statements run at once as there are processors: a run's
        rows lie in one or two parts of a file, each of which one thread reads. No more are read
        ahead, as their rows would wait in memory.
        """
        workers = os.cpu_count() or 1
        ahead: deque[Future[NDArray[np.float64]]] = deque()
        with self._without_partitions(), ThreadPoolExecutor(workers) as pool:
            for params in several:
                ahead.append(pool.submit(self._read_numbers, sql, params))
                if len(ahead) > workers:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()

    @contextmanager
    def _without_partitions(self) -> Iterator[None]:
        """Have DuckDB read the few rows of a run once, not once for each part of a large file."""
        self._set_if_known("disabled_optimizers = 'partitioned_execution'")
        try:
            yield
        finally:
            self._db.execute("reset disabled_optimizers")

    def _set_if_known(self, setting: str) -> None:
        """Change a setting that only makes things quicker, where this DuckDB has it."""
        import duckdb

        with suppress(duckdb.Error):
            self._db.execute(f"set {setting}")

    def _read_numbers(self, sql: str, params: Params) -> NDArray[np.float64]:
        import numpy as np

        wanted = {name: params[name] for name in find_parameters(sql)}
        with self._errors(), silence(self._db.cursor()) as cursor:
            found = cursor.execute(rewrite_parameters(sql, "${}".format), wanted).fetchnumpy()
        columns = [np.ma.filled(np.ma.asarray(c, np.float64), np.nan) for c in found.values()]
        return np.stack(columns)

    def stream(self, sql: str) -> Iterator[Record]:
        """Yield the rows of one statement page by page."""
        with self._errors():
            cursor = self._db.execute(sql)
        while True:
            with self._errors():
                page = cursor.fetchmany(_PAGE)
            if not page:
                return
            yield from page

    def describe(self, sql: str, params: Params = NO_PARAMS) -> list[str]:
        """Return the column names of one statement without running it in full."""
        wanted = {name: params[name] for name in find_parameters(sql)}
        limited = f"select * from (\n{rewrite_parameters(sql, '${}'.format)}\n) limit 0"
        with self._errors():
            return [column[0] for column in self._db.execute(limited, wanted).description or []]

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        """Refuse: Parquet files are written by export alone."""
        self._refuse()

    def run_script(self, sql: str) -> None:
        """Define views; nothing else is scripted here."""
        with self._errors():
            self._db.execute(sql)

    def encode_time(self, moment: date) -> object:
        """Refuse: Parquet files are written by export alone."""
        self._refuse()

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[Record]) -> None:
        """Refuse: Parquet files are written by export alone."""
        self._refuse()

    def write(self, turn: str | None = None) -> AbstractContextManager[None]:
        """Refuse: Parquet files are written by export alone."""
        self._refuse()

    def migrate(self) -> AbstractContextManager[None]:
        """Refuse: Parquet files are written by export alone."""
        self._refuse()

    def create_stage(self, name: str, select: str) -> None:
        """Refuse: Parquet files are written by export alone."""
        self._refuse()

    def analyze_stage(self, name: str) -> None:
        """Do nothing: there are none."""

    def drop_stages(self) -> None:
        """Do nothing: there are none."""

    def stage(self) -> AbstractContextManager[None]:
        """Refuse: Parquet files are written by export alone."""
        self._refuse()

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Do nothing: files that are open don't change, even when an export replaces them."""
        yield

    def has_table(self, table: str) -> bool:
        """Return whether a table or view of that name exists."""
        return bool(
            self.query("select 1 from duckdb_views() where view_name = :name", {"name": table})
        )

    def is_in_place(self) -> bool:
        """Return True: nothing is ever acknowledged as written here."""
        return True

    def shed_memory(self) -> None:
        """Keep what there is: it does not grow."""

    def close(self) -> None:
        """Close the connection and the files."""
        self._db.close()
        self._handles.close()

    def _refuse(self) -> NoReturn:
        raise StoreError(
            f"{self.place}: a Parquet store is read-only; use a SQLite or PostgreSQL store"
        )

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the driver's errors into ours."""
        import duckdb

        try:
            yield
        except duckdb.CatalogException as error:
            missing = _NO_TABLE.search(str(error))
            if missing is not None and missing[1] in _list_app_tables():
                raise StoreError(
                    f"{self.place}: Parquet files hold what is measured, and no {missing[1]}; "
                    "use a SQLite or PostgreSQL store for this"
                ) from error
            raise StoreError(f"{self.place}: {name_paths(str(error), self._paths)}") from error
        except (duckdb.Error, OSError) as error:  # the latter of files at a URL
            raise StoreError(f"{self.place}: {name_paths(str(error), self._paths)}") from error


@cache
def _list_app_tables() -> frozenset[str]:
    """Return the tables of a database that hold no rows of ours, as accounts and alarms are."""
    made = {name for sql in SqlFolder("claimwise.store", "sql/schema").values()
            for name in _NEW_TABLE.findall(sql)}  # fmt: skip
    return frozenset(made - {row_type.table for row_type in ROW_TYPES})
