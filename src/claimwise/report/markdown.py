"""Writes foreign text, lists and tables as GitHub-flavoured Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

from claimwise.report.format import clean

# What Markdown or its tables could read as more than text. Underscores within words are left
# alone, so that the source stays readable.
_SPECIAL = re.compile(r"[\\`*|~$\[]|(?<!\w)_|_(?!\w)|(?<=\w):(?=//)|(?<=www)\.")


# At the start of a paragraph: a heading, a list, a line across.
_BLOCK = re.compile(r"\A(\d{0,9})([-+#=.)])(?=[-+#=\s]|\Z)")


_HTML: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}


# GitHub notifies whoever an at sign names, escaped or not, unless it stands in an element.
_MENTION = re.compile(r"(?<!\w)@")


def escape(text: str) -> str:
    """Return foreign text so that Markdown shows it as it is."""
    marked = _SPECIAL.sub(lambda found: f"\\{found[0]}", clean(text))
    marked = _BLOCK.sub(r"\1\\\2", marked)
    plain = "".join(_HTML.get(character, character) for character in marked)
    return _MENTION.sub("<span>@</span>", plain)


def write_bullets(lines: Iterable[str]) -> str:
    """Write a list; its lines are escaped already."""
    return "\n".join(f"- {line}" for line in lines)


def write_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    text: Sequence[int] = (0,),
    strong: Sequence[bool] = (),
) -> str:
    """Write a table; columns of text are set left, figures right, strong rows bold."""
    rules = [":--" if number in text else "--:" for number in range(len(headers))]
    lines = [[escape(header) for header in headers], rules]
    for number, row in enumerate(rows):
        cells = [escape(cell) for cell in row]
        is_strong = bool(strong) and strong[number]
        lines.append([f"**{cell}**" if cell else "" for cell in cells] if is_strong else cells)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)
