"""Keeps what models say to so many words, whatever the script."""

from __future__ import annotations

import re

# Letters of scripts without spaces: Thai, Japanese, Chinese. A range for regular expressions.
UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
# More letters without spaces, which only limits look at: Tibetan, Lao, Burmese, Khmer, Japanese in
# half width, and rare Chinese characters.
COUNTED = f"{UNSPACED}\u0e80-\u109f\u1780-\u17ff\u3100-\u312f\uff66-\uff9f\U00020000-\U0003ffff"
# Where no space ends a word, two letters are taken for one: about what a Chinese word has.
_WORD = re.compile(rf"[{COUNTED}]{{1,2}}|[^\s{COUNTED}]+")


def cut_words(text: str, limit: int) -> tuple[str, bool]:
    """Return text on one line with at most so many words, and whether some were cut."""
    line = " ".join(text.split())
    words = list(_WORD.finditer(line))
    if len(words) <= limit:
        return line, False
    return f"{line[: words[limit - 1].end()]}…", True
