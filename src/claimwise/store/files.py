"""Reads the SQL files that ship with the store."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from claimwise.types.rows import Judgement

_LABELS = re.compile(r"\b(standing_|candidate_|deciding_|)labels as\b")


def _folder(name: str) -> Traversable:
    return files("claimwise.store").joinpath("sql", name)


def read_sql(folder: str, name: str) -> str | None:
    """Return one SQL file of a folder, or None when there is none of that name."""
    return _read_folder(folder).get(name)


def read_all_sql() -> None:
    """Read every SQL file: a server whose files are replaced under it goes on with its own."""
    for folder in files("claimwise.store").joinpath("sql").iterdir():
        _read_folder(folder.name)


@cache
def _read_folder(folder: str) -> dict[str, str]:
    return dict(list_sql(folder))


def turn_query(sql: str, judgement: Judgement) -> str:
    """Return a query on labels for a way of judging: closed-book ones lie in tables alike."""
    if judgement == "grounded":
        return sql
    turned = _LABELS.sub(r"\1closed_book_labels as", sql).replace("'grounded'", "'closed_book'")
    return re.sub(r"\.verdict\b", ".label", turned)


@cache
def list_sql(folder: str) -> tuple[tuple[str, str], ...]:
    """Return name and text of all SQL files of a folder, in the order of their names."""
    folder_path = _folder(folder)
    if not folder_path.is_dir():
        return ()
    found = sorted(path.name for path in folder_path.iterdir() if path.name.endswith(".sql"))
    return tuple(
        (name.removesuffix(".sql"), folder_path.joinpath(name).read_text(encoding="utf-8").strip())
        for name in found
    )


def list_views() -> tuple[tuple[str, str], ...]:
    """Return the views in the order in which they build on each other: name, select."""
    return tuple((name.partition("_")[2], sql) for name, sql in list_sql("views"))
