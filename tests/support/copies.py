"""Stores that are filled once and copied for every test that changes them."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeAlias
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
