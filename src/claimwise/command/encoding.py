"""Output to a terminal or pipe that can't show every character, as one in Latin-1 or ASCII.

Everything claimwise writes is Unicode. Where a stream can't encode a character, a plain one that
looks like it is written, or its ``\\u…`` escape: never an error half-way through a report.
"""

from __future__ import annotations

import codecs
import sys
from typing import Final

HANDLER: Final = "claimwise-plain"
# None of these may end a cell of CSV or a string of JSON: quotation marks become apostrophes.
_PLAIN: Final = {
    "“": "'", "”": "'", "„": "'", "‘": "'", "’": "'", "…": "...", "–": "-", "—": "-", "−": "-",
    "×": "x", "→": "->", "≥": ">=", "≤": "<=", "€": "EUR ", "✓": "+", "✗": "x", "○": "o", "●": "*",
    "⟦": "[", "⟧": "]", "│": "|", "─": "-", "━": "-", "█": "#", "▁": "_", "⚠": "!",
}  # fmt: skip


def prepare_streams() -> None:
    """Let standard output and standard error replace what they can't encode."""
    codecs.register_error(HANDLER, _replace)
    for stream in (sys.stdout, sys.stderr):
        # A stream that somebody put in their place may not have it.
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors=HANDLER)


def fit_json(text: str) -> str:
    """Return JSON as standard output can write it: what it can't encode is escaped, not lost."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        wrong = {character for character in set(text) if not _is_encodable(character, encoding)}
        return text.translate({ord(character): _escape(character) for character in wrong})
    return text


def _is_encodable(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _replace(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    wrong = error.object[error.start : error.end]
    return "".join(_PLAIN.get(character) or _escape(character) for character in wrong), error.end


def _escape(character: str) -> str:
    """Return the escape of JSON: two of them for a character beyond the first 65,536."""
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[n : n + 4]}" for n in range(0, len(units), 4))
