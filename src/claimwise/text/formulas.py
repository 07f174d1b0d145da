"""Texts as cells of a spreadsheet that runs none of them.

A spreadsheet takes a cell that begins like a formula for one, and runs it. So a text that does
is written with an apostrophe before it, as OWASP advises, and read without; a text that begins
with apostrophes and then like a formula gets one more, so that nothing is lost.
"""

from __future__ import annotations

import re

_FORMULA = re.compile(r"'*[=+\-@\t\r\n＝＋－＠]")


def guard_cell(value: object) -> object:
    """Return a value as a cell that no spreadsheet runs: numbers stay as they are."""
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def unguard_cell(text: str) -> str:
    """Return what :func:`guard_cell` was given."""
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text
