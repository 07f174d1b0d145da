"""Lets DuckDB read and write local files, each exactly the one that a path names.

DuckDB takes what it is given for a pattern: ``[1]``, ``*`` and ``?`` find other files, ``~`` is a
home, ``run=5/`` adds a column, ``s3://`` asks for an extension. So it never gets to see a path: a
file is opened here, and DuckDB is told the number of the handle. What was opened stays the same
file for as long as it is in use, whatever becomes of its name.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from claimwise.errors import MissingExtraError

if TYPE_CHECKING:
    import duckdb

_LOCAL_ONLY = {"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
_HANDLE = re.compile(r"/dev/fd/\d+")
_ERRNO = re.compile(r'"errno":"(\d+)"')


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


def name_paths(message: str, paths: Mapping[str, Path]) -> str:
    """Return the first line of DuckDB's words with the paths that its handles stand for."""
    first_line = message.partition("\n")[0]
    return _HANDLE.sub(lambda found: str(paths.get(found[0], found[0])), first_line)


@contextmanager
def writing_errors() -> Iterator[None]:
    """Turn what DuckDB says of a file that it can't write into what Python would say.

    Raises:
        OSError: there is no space left, or the like.
    """
    import duckdb

    try:
        yield
    except duckdb.Error as error:
        first_line = str(error).partition("\n")[0]
        number = _ERRNO.search(first_line)
        code = int(number[1]) if number else errno.EIO
        raise OSError(code, os.strerror(code) if number else first_line) from error


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
