"""When two questions are the same."""

from __future__ import annotations

import re
import unicodedata


def normalise_question(text: str) -> str:
    """Return a question without case, spacing, punctuation and typographic variants."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.findall(r"\w+", plain)) or plain.strip()
