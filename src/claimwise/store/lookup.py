"""Reads rows of any kind, and finds the runs and documents that several features ask for."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from claimwise.errors import StoreError, describe_unknown
from claimwise.store.runs import list_run_ids
from claimwise.store.store import Store
from claimwise.types.rows import Row, Run, Source

R = TypeVar("R", bound=Row)


def select_rows(store: Store, row_type: type[R], where: str = "", **params: Any) -> list[R]:
    """Return the rows of a kind that a condition selects, in the order of their keys."""
    columns = ", ".join(row_type.__struct_fields__)
    key = ", ".join(row_type.key)
    sql = f"select {columns} from {row_type.table} {where} order by {key}"
    return [to_row(row_type, record) for record in store.query(sql, params)]


def to_row(row_type: type[R], record: tuple[Any, ...]) -> R:
    """Return a record as a row; SQLite gives days and times as text and truth as numbers."""
    fields = dict(zip(row_type.__struct_fields__, record, strict=True))
    return msgspec.convert(fields, row_type, strict=False)


def find_run(store: Store, run_id: str) -> Run:
    """Return a run.

    Raises:
        StoreError: there is no such run; names some that are there.
    """
    found = select_rows(store, Run, "where run_id = :run_id", run_id=run_id)
    if found:
        return found[0]
    raise StoreError(describe_unknown("run", run_id, list_run_ids(store), where=store.place))


def find_source(store: Store, corpus_ver: str, source_id: str) -> Source | None:
    """Return a document of a corpus version, or None."""
    where = "where corpus_ver = :corpus_ver and source_id = :source_id"
    found = select_rows(store, Source, where, corpus_ver=corpus_ver, source_id=source_id)
    return found[0] if found else None
