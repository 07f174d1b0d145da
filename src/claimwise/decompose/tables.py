"""Rows of a Markdown table, cell by cell: every value with its row's name and its column's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from claimwise.decompose.markup import strip_markup
from claimwise.decompose.outline import lower_label
from claimwise.types.verdicts import Ancestor

_BORDER = re.compile(r"[\s|:-]*-[\s|:-]*")
_CELL = re.compile(r"(?<=\|)[^|]*")
# The first column names attributes, and the header whose they are.
_ATTRIBUTES = re.compile(
    r"(?:features?|attributes?|propert(?:y|ies)|aspects?|criteri(?:on|a)|metrics?|parameters?|"
    r"specifications?|categor(?:y|ies)|details?|fields?|items?|)",
    re.IGNORECASE,
)
_VALUES = re.compile(r"(?:values?|details?|descriptions?|information|answers?|)", re.IGNORECASE)
_NOTHING = re.compile(r"[\W_]*|n/?a|none|not applicable", re.IGNORECASE)


class Cell(NamedTuple):
    """A cell of a row: its place in the row, and its words."""

    start: int
    end: int
    text: str


class NamedCell(NamedTuple):
    """A value in words, with its place in the row and the cells it took over."""

    start: int
    end: int
    wording: str
    is_value: bool
    ancestors: tuple[Ancestor, ...]


class Header(NamedTuple):
    """The names of a table's columns, with the place of each in the answer."""

    cells: tuple[Cell, ...]
    places: tuple[Ancestor, ...]


def is_border(text: str) -> bool:
    """Tell whether a line is the border between a table's header and its body."""
    return _BORDER.fullmatch(text) is not None


def split_cells(masked: str) -> tuple[Cell, ...]:
    """Return the cells of a row, without its outer bars; a cell may be empty."""
    closed = masked.rstrip()
    closed = closed if closed.endswith("|") else f"{closed}|"
    cells = []
    for match in _CELL.finditer(closed, 0, len(closed) - 1):
        start = match.start() + len(match[0]) - len(match[0].lstrip())
        end = max(start, match.start() + len(match[0].rstrip()))
        cells.append(Cell(start, end, strip_markup(match[0]).strip()))
    return tuple(cells)


def read_header(masked: str, offset: int) -> Header:
    """Return the header of a table whose row begins at an offset."""
    cells = split_cells(masked)
    places = (Ancestor(text=c.text, start=offset + c.start, end=offset + c.end) for c in cells)
    return Header(cells, tuple(places))


def name_cells(
    cells: Sequence[Cell], header: Header, parent: str | None, offset: int
) -> list[NamedCell]:
    """Return every value of a row with its row's name, which is the first cell, and its column's.

    “Basic | €5” below “Plan | Price” is “Basic: price €5”. Where the first column names attributes
    the columns are the owners: “Battery | 6 weeks” below “Feature | Leaf 4” is “Leaf 4: battery 6
    weeks”. In a table of attributes and values the owner is what the table stands under.
    """
    key, *values = cells
    by_attribute = _ATTRIBUTES.fullmatch(header.cells[0].text) is not None
    row = Ancestor(text=key.text, start=offset + key.start, end=offset + key.end)
    named = []
    for value, column, place in zip(values, header.cells[1:], header.places[1:], strict=True):
        if not value.text:
            continue
        wording = _word_cell(key.text, column.text, value.text, parent, by_attribute=by_attribute)
        taken = (place, row) if by_attribute else (row, place)
        is_value = _NOTHING.fullmatch(value.text) is None
        named.append(NamedCell(value.start, value.end, wording, is_value, taken))
    if named:  # the row's name lies in its first claim
        named[0] = named[0]._replace(start=min(key.start, named[0].start))
    return named


def _word_cell(key: str, column: str, value: str, parent: str | None, *, by_attribute: bool) -> str:
    if _VALUES.fullmatch(column):
        return f"{parent}: {lower_label(key)} {value}" if parent and key else f"{key}: {value}"
    if by_attribute and key:
        return f"{column}: {lower_label(key)} {value}"
    return f"{key}: {lower_label(column)} {value}" if key else f"{column}: {value}"
