"""The store: one object in front of whichever database holds the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import date, datetime
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from claimwise.errors import StoreError
from claimwise.store.breaches import count_breaches
from claimwise.store.checks import Violation, audit_store
from claimwise.store.claim_index import refill_claim_index
from claimwise.store.deciding import count_unsettled, settle_labels
from claimwise.store.engine import BUSY_SECONDS, NO_PARAMS, Engine, Params, Record
from claimwise.store.files import list_views
from claimwise.store.load import LoadCount, load_rows
from claimwise.store.migrations import apply_migrations, read_version, write_views
from claimwise.store.parquet import ParquetEngine
from claimwise.store.parts import Part, add_parts
from claimwise.store.postgres import PostgresEngine
from claimwise.store.sqlite import SQLiteEngine
from claimwise.types.rows import ROW_TYPES, Placed, Row

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_POSTGRES = ("postgresql://", "postgres://")
_PARQUET = "parquet:"


def open_store(
    place: str | Path,
    *,
    create: bool = False,
    busy_seconds: float = BUSY_SECONDS,
    memory: str | None = None,
) -> Store:
    """Open the store at a path or URL, bringing its schema up to date.

    Args:
        place: a SQLite file, ``postgresql://…`` (``?schema=NAME`` keeps stores apart), or a
            folder of Parquet files written by export (read-only), also as ``parquet:FOLDER``; at a
            URL of fsspec always so, as ``parquet:s3://bucket/verdicts``.
        create: make the store when there is none.
        busy_seconds: how long to wait for another one's transaction.
        memory: how much DuckDB may take for Parquet files, as “2GB”; the rest goes to disk.
    """
    engine = _open_engine(place, create=create, busy_seconds=busy_seconds, memory=memory)
    try:
        if engine.writable:
            apply_migrations(engine, create=create)
        else:
            write_views(engine)
    except BaseException:
        engine.close()
        raise
    return Store(engine)


def _open_engine(
    place: str | Path,
    *,
    create: bool,
    busy_seconds: float = BUSY_SECONDS,
    memory: str | None = None,
) -> Engine:
    if isinstance(place, str) and place.startswith(_PARQUET):
        return ParquetEngine(place.removeprefix(_PARQUET), memory=memory)
    if isinstance(place, str) and place.startswith(_POSTGRES):
        return PostgresEngine(place, create=create, busy_seconds=busy_seconds)
    if isinstance(place, str) and "://" in place:
        scheme = place.partition("://")[0]
        raise StoreError(
            f"{scheme}://…: stores of this kind are not supported; use a path, postgresql://, or "
            "parquet:URL for Parquet files"
        )
    path = Path(place)
    if path.is_dir():
        return ParquetEngine(str(path), memory=memory)
    return SQLiteEngine(path, create=create, busy_seconds=busy_seconds)


class Store:
    """Keeps and returns rows; runs portable SQL. Close it, or use it as a context."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._writing = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def engine_name(self) -> str:
        """The database: sqlite, postgresql or duckdb."""
        return self._engine.name

    @property
    def place(self) -> str:
        """Where the store is, fit to be printed."""
        return self._engine.place

    @property
    def writable(self) -> bool:
        """Whether rows can be added; Parquet files are written by export alone."""
        return self._engine.writable

    @property
    def schema_version(self) -> int | None:
        """The last applied migration; None for Parquet files."""
        return read_version(self._engine) if self._engine.writable else None

    def load(
        self,
        rows: Iterable[Placed],
        paths: Sequence[str],
        *,
        update: bool = False,
        dry_run: bool = False,
        judged_since: datetime | None = None,
        before: Callable[[], object] | None = None,
        then: Callable[[], object] | None = None,
        lenient: bool = False,
    ) -> list[LoadCount]:
        """Add rows, all or none; see :func:`claimwise.store.load.load_rows`."""
        return load_rows(
            self._engine,
            rows,
            paths,
            update=update,
            dry_run=dry_run,
            judged_since=judged_since,
            before=None if before is None else lambda: self._join(before),
            then=None if then is None else lambda: self._join(then),
            lenient=lenient,
        )

    def load_label_parts(
        self, number: int, prepare: Callable[[Path], Iterator[Part | None]]
    ) -> LoadCount | None:
        """Add labels that several processes prepare, all or none; None if :meth:`load` must do it.

        Only SQLite takes them so. See :func:`claimwise.store.parts.add_parts`.
        """
        if not isinstance(self._engine, SQLiteEngine):
            return None
        return add_parts(self._engine, number, prepare)

    def _join(self, work: Callable[[], object]) -> None:
        """Do work inside a transaction that is open: what it writes joins that one."""
        self._writing = True
        try:
            work()
        finally:
            self._writing = False

    def read_rows(self, row_type: type[Row]) -> Iterator[dict[str, Any]]:
        """Yield the rows of one table as dictionaries, in the order of their keys.

        Call it inside :meth:`snapshot`: PostgreSQL reads pages within a transaction alone.
        """
        columns = row_type.__struct_fields__
        key = ", ".join(row_type.key)
        sql = f"select {', '.join(columns)} from {row_type.table} order by {key}"
        for record in self._engine.stream(sql):
            yield dict(zip(columns, record, strict=True))

    def query(self, sql: str, params: Params = NO_PARAMS) -> list[Record]:
        """Return all rows of one statement with ``:name`` parameters."""
        return self._engine.query(sql, params)

    def query_numbers(
        self, sql: str, columns: int, several: Sequence[Params]
    ) -> Iterator[NDArray[np.float64]]:
        """Yield a statement's rows for several parameters, all numbers, as columns; null is NaN.

        Of Parquet files millions of rows come as they lie there, without a Python object for each.
        """
        if isinstance(self._engine, ParquetEngine):
            yield from self._engine.query_numbers(sql, several)
            return
        import numpy as np  # here: most commands need no array, and start without it

        for params in several:
            rows = self._engine.query(sql, params)
            yield np.array(rows, dtype=np.float64).reshape(-1, columns).T

    @contextmanager
    def write(self, turn: str | None = None) -> Iterator[None]:
        """Open a transaction that writes; writers take turns. One inside another joins it.

        Args:
            turn: waits, where the database can, only for writers of the same name and for those
                without one; see :meth:`claimwise.store.engine.Engine.write`.
        """
        if self._writing:
            yield
            return
        with self._engine.write(turn):
            self._writing = True
            try:
                yield
            finally:
                self._writing = False

    def execute(self, sql: str, params: Params = NO_PARAMS) -> int:
        """Run one statement inside :meth:`write`; return how many rows it changed."""
        return self._engine.execute(sql, params)

    def insert_rows(self, table: str, columns: Sequence[str], rows: Iterable[Record]) -> None:
        """Insert many rows at once inside :meth:`write`."""
        encode = self._engine.encode_time
        encoded = (tuple(encode(v) if isinstance(v, date) else v for v in row) for row in rows)
        self._engine.insert_rows(table, columns, encoded)

    def execute_all(self, statements: Iterable[tuple[str, Params]]) -> None:
        """Run statements with their parameters in one transaction."""
        with self.write():
            for sql, params in statements:
                self._engine.execute(sql, params)

    def describe(self, sql: str, params: Params = NO_PARAMS) -> list[str]:
        """Return the column names of one statement."""
        return self._engine.describe(sql, params)

    def snapshot(self) -> AbstractContextManager[None]:
        """Show one state of the data to all queries inside, whatever others write."""
        return self._engine.snapshot()

    def audit(self) -> list[tuple[str, Violation]]:
        """Return stored rows that break a rule, with their tables."""
        return list(audit_store(self._engine))

    def settle(self) -> dict[str, int]:
        """Work out again which labels decide, and correct the rows that say otherwise.

        Returns:
            By table, how many did. Those of a read-only store stay as they are.
        """
        if not self.writable:
            return count_unsettled(self._engine)
        with self.write():
            found = count_unsettled(self._engine)
            if any(found.values()):
                settle_labels(self._engine)
                refill_claim_index(self._engine)
        return found

    def count_labels_against_guide(self, run_id: str | None = None) -> int:
        """Count the labels, of one run or of all, that break the guide and still stand."""
        chosen = "" if run_id is None else " where l.run_id = :run_id"
        subject = f"select l.*, 0 as file_no, 0 as line_no from standing_labels as l{chosen}"
        params = {} if run_id is None else {"run_id": run_id}
        return count_breaches(self._engine, subject, params).total

    def count_rows(self) -> dict[str, int]:
        """Return the number of rows of every table."""
        return {t.table: self.query(f"select count(*) from {t.table}")[0][0] for t in ROW_TYPES}

    def missing_views(self) -> list[str]:
        """Return views that someone dropped."""
        return [name for name, _ in list_views() if not self._engine.has_table(name)]

    def is_in_place(self) -> bool:
        """Return whether what is open is still what the place names; files can be replaced."""
        return self._engine.is_in_place()

    def shed_memory(self) -> None:
        """Give back memory that is kept only to make later queries faster."""
        self._engine.shed_memory()

    def close(self) -> None:
        """Close the connection."""
        self._engine.close()
