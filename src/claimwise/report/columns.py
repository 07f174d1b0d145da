"""Sets words and tables on a terminal.

Tables are laid out by hand, because a figure must never wrap: slice values are cut before that,
and the forest plots take what width is left. Where the console can't write UTF, everything turns
into ASCII.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from claimwise.report.format import Forest

FOREST_WIDTH: Final = 24
_LEAST_FOREST: Final = 10
_MOST_NAME: Final = 28
_FAIR_NAME: Final = 12  # cutting names further is worth no plot


@dataclass(frozen=True, kw_only=True, slots=True)
class Glyphs:
    """The characters of plots."""

    thin: str = "─"
    thick: str = "━"
    point: str = "●"
    reference: str = "┊"
    thin_reference: str = "┼"
    thick_reference: str = "┿"
    shades: str = "█▓▒░╱"
    ellipsis: str = "…"


_ASCII: Final = Glyphs(
    thin="-", thick="=", point="o", reference="|", thin_reference="+", thick_reference="+",
    shades="#*+:.", ellipsis="~",
)  # fmt: skip
_TO_ASCII: Final = str.maketrans(
    {
        "—": "-",
        "–": "-",
        "−": "-",
        "×": "x",
        "·": "|",
        "…": "~",
        "«": '"',
        "»": '"',
        "“": '"',
        "”": '"',
    }
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Column:
    """A column of a table: text, or forest plots under an axis."""

    header: str = ""
    cells: Sequence[str] = ()
    forests: Sequence[Forest | None] = ()
    styles: Sequence[str] = ()
    right: bool = False
    least: int | None = None  # names may be cut to this width; figures never

    def natural_width(self) -> int:
        """Return the width that shows every cell whole; plots take any."""
        if self.forests:
            return 0
        widest = max(cell_len(line) for line in (*self.header.split("\n"), *self.cells))
        return min(widest, _MOST_NAME) if self.least else widest

    def style(self, number: int) -> str:
        """Return the style of a cell."""
        return self.styles[number] if self.styles else ""


def fit_columns(columns: Sequence[Column], width: int) -> list[int]:
    """Return each column's width; plots without room for all of them get none."""
    widths = [column.natural_width() for column in columns]
    excess = [w - (column.least or w) for w, column in zip(widths, columns, strict=True)]
    plots = [number for number, column in enumerate(columns) if column.forests]
    free = width - (len(columns) - 1) - sum(widths)
    needed = _LEAST_FOREST * len(plots)
    spare = [
        w - max(column.least, _FAIR_NAME)
        for w, column in zip(widths, columns, strict=True)
        if column.least
    ]
    if free + sum(max(0, more) for more in spare) < needed:
        free += len(plots)  # the gaps beside them
        needed, plots = 0, []
    while free < needed and max(excess) > 0:
        longest = excess.index(max(excess))
        excess[longest] -= 1
        widths[longest] -= 1
        free += 1
    for number in plots:
        widths[number] = min(FOREST_WIDTH, free // len(plots))
    return widths


class Writer:
    """A console and the characters that it can show."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.is_utf = console.encoding.lower().startswith("utf")
        self.glyphs = Glyphs() if self.is_utf else _ASCII

    @property
    def width(self) -> int:
        """The console's width in cells."""
        return self._console.width

    def text(self, text: str, style: str = "") -> Text:
        """Return text that the console can show."""
        if not self.is_utf:
            encoding = self._console.encoding
            text = text.translate(_TO_ASCII).encode(encoding, "replace").decode(encoding)
        return Text(text, style=style)

    def say(self, text: str, style: str = "", *, indent: int = 0) -> None:
        """Print a paragraph, line by line: rich goes through a whole one once for every line."""
        for line in self.text(text, style).wrap(self._console, max(1, self.width - indent)):
            self._console.print(Text(" " * indent).append_text(line))

    def write_whole(self, text: str, style: str = "") -> None:
        """Print a line to be copied: the terminal may break it, we don't."""
        self._console.print(self.text(text, style), soft_wrap=True)

    def put(self, content: RenderableType, *, indent: int = 2) -> None:
        """Print something set already."""
        self._console.print(Padding(content, (0, 0, 0, indent), expand=False))

    def skip(self) -> None:
        """Print an empty line."""
        self._console.print()

    def put_columns(self, columns: Sequence[Column], *, indent: int = 2) -> None:
        """Print a table; columns with neither header nor cells are left out."""
        columns = [
            column for column in columns if column.header or column.forests or any(column.cells)
        ]
        widths = fit_columns(columns, self.width - indent)
        shown = [(column, width) for column, width in zip(columns, widths, strict=True) if width]
        grid = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0), header_style="dim")
        for column, width in shown:
            header = "\n".join(self._cut(line, width) for line in column.header.split("\n"))
            if column.forests:
                header = f"0%{'100%':>{width - 2}}"
            grid.add_column(
                self.text(header),
                width=width,
                no_wrap=True,
                justify="right" if column.right else "left",
                vertical="bottom",
            )
        for number in range(max(len(column.cells) for column in columns)):
            grid.add_row(*(self._cell(column, number, width) for column, width in shown))
        self.put(grid, indent=indent)

    def _cell(self, column: Column, number: int, width: int) -> Text:
        if column.forests:
            return self.draw_forest(column.forests[number], width)
        return self.text(self._cut(column.cells[number], width), column.style(number))

    def _cut(self, text: str, width: int) -> str:
        if cell_len(text) <= width:
            return text
        return set_cell_size(text, width - 1) + self.glyphs.ellipsis

    def draw_forest(self, forest: Forest | None, width: int = FOREST_WIDTH) -> Text:
        """Draw a forest plot in a row of cells, 0 at the left and 1 at the right."""
        if forest is None:
            return Text()
        glyphs = self.glyphs
        cells = [" "] * width

        def place(value: float) -> int:
            return min(width - 1, int(value * width))

        for (low, high), glyph in ((forest.thin, glyphs.thin), (forest.thick, glyphs.thick)):
            for number in range(place(low), place(high) + 1):
                cells[number] = glyph
        if forest.reference is not None:
            crossed = {glyphs.thin: glyphs.thin_reference, glyphs.thick: glyphs.thick_reference}
            at = place(forest.reference)
            cells[at] = crossed.get(cells[at], glyphs.reference)
        cells[place(forest.point)] = glyphs.point
        return Text("".join(cells))

    def draw_division(self, cells: Sequence[int]) -> Text:
        """Draw a bar of several shades."""
        return Text("".join(self.shade(number) * count for number, count in enumerate(cells)))

    def shade(self, number: int) -> str:
        """Return the character that fills the numbered part of a bar."""
        return self.glyphs.shades[number % len(self.glyphs.shades)]


def print_screen(screen: str, console: Console) -> None:
    """Print a screen of plain text, the names of its lines bold."""
    writer = Writer(console)
    for line in screen.splitlines():
        text = writer.text(line)
        if not line.startswith(" "):
            text.stylize("bold", 0, len(line.split("  ")[0]))
        console.print(text, soft_wrap=True)
