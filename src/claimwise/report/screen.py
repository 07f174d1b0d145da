"""Sets one screen of plain text: a column of names, and lines that never run over."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len, set_cell_size

MOST_LINES: Final = 25
MARGIN: Final = 14
"""Cells of the column of names."""


def write_row(name: str, lines: Sequence[str]) -> list[str]:
    """Return lines with a name before the first."""
    return [
        f"{name if number == 0 else '':<{MARGIN}}{line}".rstrip()
        for number, line in enumerate(lines)
    ]


def wrap_lines(text: str, room: int, most: int = 2) -> list[str]:
    """Break a text into a few lines; what does not fit is cut."""
    lines = textwrap.wrap(text, room, break_on_hyphens=False) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], " ".join(lines[most - 1 :])]
    return [cut_line(line, room) for line in lines]


def cut_line(text: str, room: int) -> str:
    """Shorten a text to the cells of a terminal that it may take."""
    return text if cell_len(text) <= room else set_cell_size(text, room - 1).rstrip() + "…"
