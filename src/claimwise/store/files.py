"""Reads the SQL files that ship with the store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import ClassVar

from claimwise.types.rows import ClosedBookLabel, Judgement, Label, written_columns

# What the names in braces stand for, by way of judging. Closed-book labels have neither a
# confidence nor evidence; of a label ``v`` these are nothing there.
_NAMES: dict[Judgement, dict[str, str]] = {
    "grounded": {
        "judgement": "grounded",
        "labels": "labels",
        "standing_labels": "standing_labels",
        "candidate_labels": "candidate_labels",
        "deciding_labels": "deciding_labels",
        "verdict": "verdict",
        "confidence": "v.confidence",
        "reason": "v.reason",
        "supporting_span": "v.supporting_span",
        "span_start": "v.span_start",
        "source_id": "v.source_id",
        "covered_text": "v.covered_text",
    },
    "closed_book": {
        "judgement": "closed_book",
        "labels": "closed_book_labels",
        "standing_labels": "standing_closed_book_labels",
        "candidate_labels": "candidate_closed_book_labels",
        "deciding_labels": "deciding_closed_book_labels",
        "verdict": "label",
        "confidence": "cast(null as double precision)",
        "reason": "v.decision_basis",
        "supporting_span": "cast(null as text)",
        "span_start": "cast(null as integer)",
        "source_id": "cast(null as text)",
        "covered_text": "cast(null as text)",
    },
}


class SqlFolder(Mapping[str, str]):
    """The SQL files of a folder that ships with a package, by name; read when first asked for."""

    _made: ClassVar[list[SqlFolder]] = []

    def __init__(self, package: str, folder: str = "sql") -> None:
        self._package = package
        self._folder = folder
        self._made.append(self)

    @cached_property
    def _files(self) -> dict[str, str]:
        return dict(_read_folder(files(self._package).joinpath(self._folder)))

    def __getitem__(self, name: str) -> str:
        return self._files[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._files)

    def __len__(self) -> int:
        return len(self._files)

    def for_judgement(self, name: str, judgement: Judgement = "grounded") -> str:
        """Return a query on the labels of a way of judging.

        Grounded and closed-book labels lie in tables of one shape. Where a query serves both, its
        file says ``{standing_labels}``, ``{verdict}``…; ``_NAMES`` says what that is in each. A
        condition that several queries share is a file of the store's folder ``fragments``.
        """
        names = _NAMES[judgement]
        shared = {part: sql.format_map(names) for part, sql in _FRAGMENTS.items()}
        query = self[name].format_map({**names, **shared})
        assert judgement == "grounded" or query != self[name], f"{name}.sql is for grounded labels"
        return query

    @classmethod
    def read_all(cls) -> None:
        """Read every folder: a server whose files are replaced under it goes on with its own."""
        for folder in cls._made:
            len(folder)


def _read_folder(folder: Traversable) -> Iterator[tuple[str, str]]:
    """Yield name and text of all SQL files of a folder, in the order of their names."""
    for path in sorted(folder.iterdir(), key=lambda path: path.name):
        if path.name.endswith(".sql"):
            yield path.name.removesuffix(".sql"), path.read_text(encoding="utf-8").strip()


_FRAGMENTS = SqlFolder("claimwise.store", "sql/fragments")
_VIEWS = SqlFolder("claimwise.store", "sql/views")


# The columns that views of labels have; which of two decides is their own business.
_COLUMNS = {
    f"{{{name}}}": ", ".join(written_columns(row_type))
    for name, row_type in (("label_columns", Label), ("closed_book_label_columns", ClosedBookLabel))
}


def list_views(*, kept: bool = True) -> tuple[tuple[str, str], ...]:
    """Return the views in the order in which they build on each other: name, select.

    One on the labels of any way of judging is written once, and holds the rows of all ways.

    Args:
        kept: whether each label says if it decides. Else labels are compared to find out: in files
            of old exports, and where only some labels may decide.
    """
    views = [(name.partition("_")[2], _write_view(name)) for name in _VIEWS]
    if kept:
        return tuple(views)
    names = dict(views)
    return tuple(
        (name, f"select * from computed_{name}" if f"computed_{name}" in names else sql)
        for name, sql in views
    )


def _write_view(name: str) -> str:
    sql = _VIEWS[name]
    if "{judgement}" in sql:
        return "\nunion all\n".join(_VIEWS.for_judgement(name, judgement) for judgement in _NAMES)
    for mark, columns in _COLUMNS.items():
        sql = sql.replace(mark, columns)
    return sql
