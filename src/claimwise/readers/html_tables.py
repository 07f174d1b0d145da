"""Writes the tables of a web page in pipes, so that every value keeps its column.

A table that only arranges a page (one within another, long cells, cells over several rows or
columns) is left as its words.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

_LONGEST_CELL = 300  # letters
_DIGIT = re.compile(r"\d")
_SPANS = re.compile(r"(?:row|col)span\s*=\s*[\"']?\s*(?!1\b)\d", re.IGNORECASE)


class _Cell(NamedTuple):
    start: int  # its first part
    end: int
    is_header: bool


@dataclass(slots=True)
class _Table:
    start: int
    is_plain: bool = True
    rows: list[list[_Cell]] = field(default_factory=list)
    cell: tuple[int, bool] | None = None  # where the open one begins, and if it is a header

    def end_cell(self, end: int) -> None:
        if self.cell is not None:
            self.rows[-1].append(_Cell(self.cell[0], end, self.cell[1]))
        self.cell = None


class TableWriter:
    """Follows the tags of a page, and rewrites what was put down of a table when it ends."""

    def __init__(self, parts: list[str]) -> None:
        self._parts = parts
        self._open: list[_Table] = []

    def pass_tag(self, tag: re.Match[str], name: str) -> None:
        """Take a tag as it comes, before anything is put down for it."""
        if name == "table":
            if not tag["closing"]:
                if self._open:
                    self._open[-1].is_plain = False
                self._open.append(_Table(len(self._parts)))
            elif self._open:
                self._end_table(self._open.pop())
        elif self._open and name in ("tr", "td", "th"):
            self._pass_cell(self._open[-1], tag, name)

    def _pass_cell(self, table: _Table, tag: re.Match[str], name: str) -> None:
        """Ends may be left out: what comes next ends a cell and a row."""
        table.end_cell(len(self._parts))
        if tag["closing"]:
            return
        if name == "tr" or not table.rows:
            table.rows.append([])
        if name != "tr":
            table.cell = (len(self._parts), name == "th")
            table.is_plain = table.is_plain and _SPANS.search(tag[0]) is None

    def _end_table(self, table: _Table) -> None:
        table.end_cell(len(self._parts))
        rows = [row for row in table.rows if row]
        if not table.is_plain or len(rows) < 2:
            return
        cells = [[self._read_cell(cell) for cell in row] for row in rows]
        lines = _write_lines(rows, cells)
        if lines and max(len(text) for row in cells for text in row) <= _LONGEST_CELL:
            caption = " ".join("".join(self._parts[table.start : rows[0][0].start]).split())
            self._parts[table.start :] = ["\n\n", caption, "\n\n", "\n".join(lines), "\n\n"]

    def _read_cell(self, cell: _Cell) -> str:
        words = "".join(self._parts[cell.start : cell.end]).split()
        return " ".join(words).replace("|", "\\|")


def _write_lines(rows: list[list[_Cell]], cells: list[list[str]]) -> list[str]:
    """Return a table in pipes below its header; pairs without one as “name: value”."""
    widths = {len(row) for row in rows}
    headers = [cell.is_header for cell in rows[0]]
    titled = any(headers[1:]) or not any(map(_DIGIT.search, cells[0]))
    if widths == {2} and not all(headers):
        return [f"{name.rstrip(':')}: {value}" for name, value in cells]
    if widths == {1} or not titled:
        return []
    return [f"| {' | '.join(row)} |" for row in (cells[0], ["---"] * len(cells[0]), *cells[1:])]
