"""Stores that are filled once and copied for every test that changes them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg

from claimwise.demo import list_demo_files
from claimwise.store import Store, open_store
from claimwise.transfer import import_files

Fill: TypeAlias = Callable[[Store], object]

_numbers = count()


def add_nothing(store: Store) -> None:
    """Leave a new store empty."""


def add_demo(store: Store) -> None:
    """Add the demo data."""
    import_files(store, list_demo_files())


class StoreCopies:
    """Fills a store once for each way of filling and engine; copies it as often as it is asked for.

    A copy takes as long as a few pages take to be written: a file, or a database made from another.
    """

    def __init__(self, folder: Path, find_server: Callable[[], str]) -> None:
        self._folder = folder
        self._find_server = find_server
        self._filled: dict[tuple[str, Fill], str] = {}

    def copy(self, engine: str, fill: Fill) -> str:
        """Return the place of a new store with what ``fill``, a function of a module, adds."""
        key = (engine, fill)
        if key not in self._filled:
            place = self._make_place(engine)
            with open_store(place, create=True) as store:
                fill(store)
            self._filled[key] = place
        return self._make_place(engine, self._filled[key])

    def _make_place(self, engine: str, original: str | None = None) -> str:
        name = f"copy_{next(_numbers)}"
        if engine == "sqlite":
            path = self._folder / f"{name}.db"
            if original:
                shutil.copy(original, path)
            return str(path)
        server = urlsplit(self._find_server())
        template = urlsplit(original).path[1:] if original else "template1"
        asyncio.run(_create_database(server.geturl(), name, template))
        return urlunsplit(server._replace(path=f"/{name}"))


async def _create_database(server: str, name: str, template: str) -> None:
    connection = await asyncpg.connect(server)
    try:
        await connection.execute(f"create database {name} template {template} strategy file_copy")
    finally:
        await connection.close()


_SHAPE = """
    select string_agg(concat_ws(' ', c.oid, c.relname, c.relchecks,
        (select string_agg(a.attname || a.attnotnull, ',' order by a.attnum)
         from pg_attribute as a where a.attrelid = c.oid and not a.attisdropped),
        (select count(*) from pg_trigger as t where t.tgrelid = c.oid),
        (select count(*) from pg_constraint as k where k.conrelid = c.oid)
    ), '; ' order by c.oid)
    from pg_class as c where c.relnamespace = to_regnamespace($1)
"""
_IS_BUSY = """
    select exists (select from pg_stat_activity where xact_start is not null
        and pid <> pg_backend_pid() and backend_type = 'client backend')
"""
# Rows that were deleted are still read over: where they are many, tables are rebuilt, which takes
# longer. Either way in any order, whatever refers to what.
_EMPTY = """
    do $$ declare one text; tables text[]; size bigint; begin
        select array_agg(oid::regclass), sum(pg_relation_size(oid)) into tables, size from pg_class
            where relkind = 'r' and relnamespace = '{}'::regnamespace
            and relname <> 'schema_migrations';
        if size > 400000 then
            execute 'truncate ' || array_to_string(tables, ', ');
        else
            set local session_replication_role = replica;
            foreach one in array tables loop execute 'delete from ' || one; end loop;
        end if;
    end $$
"""


class EmptyStores:
    """Empty stores on a PostgreSQL server: one that was used is emptied, and used again.

    To make a schema takes many times as long as to empty it. A store is used no more after a test
    that changed anything but rows (a table, a view, a constraint) or left a transaction open.
    """

    def __init__(self, server: str, name_place: Callable[[], str]) -> None:
        self._name_place = name_place
        self._loop = asyncio.new_event_loop()
        self._db = self._loop.run_until_complete(asyncpg.connect(server))
        self._shapes: dict[str, str] = {}
        self._free: list[str] = []

    def take(self) -> str:
        """Return the place of an empty store."""
        if self._free:
            return self._free.pop()
        place = self._name_place()
        open_store(place, create=True).close()
        self._shapes[place] = self._ask(_SHAPE, _get_schema(place))
        return place

    def give_back(self, place: str) -> None:
        """Empty a store for the next test, where that is safe."""
        schema = _get_schema(place)
        if self._ask(_SHAPE, schema) == self._shapes[place] and not self._ask(_IS_BUSY):
            self._loop.run_until_complete(self._db.execute(_EMPTY.format(schema)))
            self._free.append(place)

    def close(self) -> None:
        """Close the connection."""
        self._loop.run_until_complete(self._db.close())
        self._loop.close()

    def _ask(self, sql: str, *values: str) -> Any:
        return self._loop.run_until_complete(self._db.fetchval(sql, *values))


def _get_schema(place: str) -> str:
    return place.partition("?schema=")[2]
