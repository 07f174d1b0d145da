"""Gives the texts of a CSV file the types that JSON would have given them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import msgspec

from claimwise.text.formulas import unguard_cell
from claimwise.types.rows import Row, column_types

_WHOLE = re.compile(r"(-?\d{1,18})(?:\.0{1,6})?\Z")  # 25.0 is how pandas writes a 25
_TRUTHS = {"true": True, "1": True, "false": False, "0": False}


class CellType(NamedTuple):
    """What an empty cell means, and how a filled one is read."""

    nullable: bool
    parse: Callable[[str], object]


@cache
def cell_types(row_type: type[Row]) -> Mapping[str, CellType]:
    """Return how the cells of each column of a row type are read."""
    types = column_types(row_type)
    return {
        # A required text may be empty; anything else that is empty is left out, and missed.
        field.name: CellType(
            nullable=not field.required, parse=_PARSERS.get(types[field.name], unguard_cell)
        )
        for field in msgspec.structs.fields(row_type)
    }


def parse_cells(cells: dict[str, str], types: Mapping[str, CellType]) -> dict[str, Any]:
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


def _parse_whole(text: str) -> object:
    found = _WHOLE.match(text)
    return int(found[1]) if found else text


def _parse_number(text: str) -> object:
    try:
        return float(text)
    except ValueError:
        return text


def _parse_truth(text: str) -> object:
    return _TRUTHS.get(text.lower(), text)


_PARSERS: dict[type, Callable[[str], object]] = {
    bool: _parse_truth,
    int: _parse_whole,
    float: _parse_number,
}
