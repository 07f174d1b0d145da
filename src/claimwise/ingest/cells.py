"""Gives the texts of a CSV file the types that JSON would have given them."""

from __future__ import annotations

import re
from collections.abc import Callable
from types import NoneType, UnionType
from typing import Annotated, Any, NamedTuple, Union, get_args, get_origin, get_type_hints

import msgspec

from claimwise.types.rows import Row

_WHOLE = re.compile(r"-?\d{1,18}\Z")
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


class CellType(NamedTuple):
    """What an empty cell means, and how a filled one is read."""

    nullable: bool
    parse: Callable[[str], object]


def cell_types(row_type: type[Row]) -> dict[str, CellType]:
    """Return how the cells of each column of a row type are read."""
    hints = get_type_hints(row_type)
    return {
        field.name: CellType(
            nullable=not field.required or NoneType in get_args(hints[field.name]),
            parse=_PARSERS.get(_base_type(hints[field.name]), str),
        )
        for field in msgspec.structs.fields(row_type)
    }


def parse_cells(cells: dict[str, str], types: dict[str, CellType]) -> dict[str, Any]:
    """Return a record. CSV has no null: an empty cell of an optional field is left out.

    A cell that does not look like its type stays a text, for the conversion to complain about.
    """
    types = {"sample": CellType(nullable=True, parse=_parse_whole), **types}
    record: dict[str, Any] = {}
    for name, text in cells.items():
        kind = types.get(name)
        if kind is None:
            record[name] = text
        elif text or not kind.nullable:
            record[name] = kind.parse(text)
    return record


def _base_type(hint: Any) -> Any:
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    if get_origin(hint) in (Union, UnionType):
        return next(_base_type(part) for part in get_args(hint) if part is not NoneType)
    return hint


def _parse_whole(text: str) -> object:
    return int(text) if _WHOLE.match(text) else text


def _parse_number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _parse_truth(text: str) -> object:
    return _TRUTHS.get(text.lower(), text)


_PARSERS: dict[Any, Callable[[str], object]] = {
    bool: _parse_truth,
    int: _parse_whole,
    float: _parse_number,
}
