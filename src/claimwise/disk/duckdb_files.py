"""Lets DuckDB read and write local files, each exactly the one that a path names.

DuckDB takes what it is given for a pattern: ``[1]``, ``*`` and ``?`` find other files, ``~`` is a
home, ``run=5/`` adds a column, ``s3://`` asks for an extension. So it never gets to see a path: a
file is opened here, and DuckDB is told the number of the handle. What was opened stays the same
file for as long as it is in use, whatever becomes of its name. Files at a URL have numbers too;
whoever replaces one of them while it is read is found out.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from claimwise.errors import MissingExtraError

if TYPE_CHECKING:
    import duckdb

_LOCAL_ONLY = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
_HANDLE = re.compile(r"/dev/fd/\d+|claimwise://\d+")
_ERRNO = re.compile(r'"errno":"(\d+)"')
_STATEMENT = "\n\nLINE "  # from here on, DuckDB shows the statement that failed


def connect_duckdb(feature: str, **config: str) -> duckdb.DuckDBPyConnection:
    """Return an empty database in memory, which loads no extension and knows no network.

    Args:
        feature: what needs it, for the error's text.
        config: more settings of DuckDB.

    Raises:
        MissingExtraError: DuckDB is not installed.
    """
    try:
        import duckdb
    except ImportError as error:
        raise MissingExtraError(feature, "parquet") from error
    return silence(duckdb.connect(":memory:", config={**_LOCAL_ONLY, **config}))


def silence(database: duckdb.DuckDBPyConnection) -> duckdb.DuckDBPyConnection:
    """Return a connection, or a cursor, that draws no bar on standard output.

    After two seconds it would, in the middle of somebody's JSON.
    """
    return database.execute("set enable_progress_bar = false")


def name_paths(message: str, paths: Mapping[str, Path | str]) -> str:
    """Return DuckDB's words as one line, with the paths that its handles stand for.

    Where a driver of fsspec failed, the words are a whole traceback, and its last line tells.
    """
    lines = message.partition(_STATEMENT)[0].strip().splitlines() or [""]
    told = lines[0]
    if told.startswith("Traceback"):
        kind, _, words = lines[-1].partition(": ")
        told = words or kind
    return _HANDLE.sub(lambda found: str(paths.get(found[0], found[0])), told)


@contextmanager
def writing_errors(paths: Mapping[str, Path | str] = MappingProxyType({})) -> Iterator[None]:
    """Turn what DuckDB says of a file that it can't write into what Python would say.

    Args:
        paths: what the names of files stand for, which the words may tell.

    Raises:
        OSError: there is no space left, or the like.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        told = name_paths(str(error), paths)
        number = _ERRNO.search(told)
        code = int(number[1]) if number else errno.EIO
        raise OSError(code, os.strerror(code) if number else told) from error


@contextmanager
def open_for_duckdb(path: Path, flags: int = os.O_RDONLY) -> Iterator[str]:
    """Open a file; yield the name by which DuckDB finds it, fit to stand in quotes in SQL.

    Raises:
        OSError: it can't be opened.
    """
    handle = os.open(path, flags, 0o666)
    try:
        yield f"/dev/fd/{handle}"
    finally:
        os.close(handle)


def add_url_files(database: duckdb.DuckDBPyConnection, filesystem: Any) -> Callable[[str], str]:
    """Let DuckDB read files of an fsspec file system.

    Returns:
        What takes the path of a file, and gives the name by which DuckDB finds it.
    """
    from fsspec import AbstractFileSystem

    class Numbered(AbstractFileSystem):  # type: ignore[misc]
        """The files that were named, by their numbers: DuckDB never gets to see a path."""

        protocol = "claimwise"
        cachable = False

        def open(self, path: str, mode: str = "rb", **_: Any) -> Any:
            file = paths[path]
            if filesystem.ukey(file) != versions[path]:
                raise OSError(f"{file} was replaced while it was read; run the command again")
            return filesystem.open(file, "rb")

        def info(self, path: str, **_: Any) -> Any:
            return filesystem.info(paths[path])

        def glob(self, path: str, **_: Any) -> list[str]:
            return [path] if path in paths else []

        def exists(self, path: str, **_: Any) -> bool:
            return path in paths

        def modified(self, path: str) -> datetime:
            return datetime(2000, 1, 1, tzinfo=UTC)  # not all know, and it does not change

    paths: dict[str, str] = {}
    versions: dict[str, object] = {}
    database.register_filesystem(Numbered())

    def add(path: str) -> str:
        name = f"claimwise://{len(paths)}"
        paths[name], versions[name] = path, filesystem.ukey(path)
        return name

    return add
