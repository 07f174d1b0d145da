"""Words as the verifier counts them: stems, numbers, and which words carry meaning.

A stem is a lower-cased word without its English ending; text in a script without spaces is
counted by pairs of characters. Both tiers, the training scripts and the baseline share these
functions, so a word means the same everywhere.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import NamedTuple

# Numbers keep their separators; letters of unspaced scripts come one by one.
_UNSPACED = "\u0e00-\u0e7f\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"\d+(?:[.,]\d+)*|[{_UNSPACED}]|[^\W\d_{_UNSPACED}]+(?:['’][^\W\d_]+)?")
_UNSPACED_LETTER = re.compile(f"[{_UNSPACED}]")

COMMON_WORDS = frozenset(
    (files("claimwise.verify") / "data" / "common_words.txt").read_text(encoding="utf-8").split()
)


class Word(NamedTuple):
    """A counted word and its place."""

    stem: str
    start: int
    end: int


class _Stems(dict[str, str]):
    """Stems by word, found once each; emptied before hostile text could fill the memory."""

    _MOST = 500_000

    def __missing__(self, word: str) -> str:
        if len(self) >= self._MOST:
            self.clear()
        stem = self[word] = _make_stem(word)
        return stem


_STEMS = _Stems()


def find_stem(word: str) -> str:
    """Return the word in lower case without its most common English endings.

    Cuts possessives, plurals, -ed, -ing, -ly and doubled consonants left behind, and only while
    three letters remain. Numbers lose their thousands separators and trailing zeros.
    """
    return _STEMS[word]


def _make_stem(word: str) -> str:
    if word[:1].isdigit():
        return _plain_number(word)
    word = word.lower().replace("’", "'")
    if "'" in word:
        word = _uncontract(word)
    return _cut_ending(word) if word.isascii() and len(word) > 3 else word


def _uncontract(word: str) -> str:
    """Return what a contraction begins with: "does" of "doesn't", "we" of "we'll"."""
    if word.endswith("n't"):
        return {"can't": "can", "won't": "will", "shan't": "shall"}.get(word, word[:-3])
    head, _, tail = word.partition("'")
    return head if tail in ("s", "ve", "re", "ll", "d", "m") else word.replace("'", "")


def _plain_number(word: str) -> str:
    whole = re.sub(r",(?=\d{3}(?:\D|$))", "", word)
    if "." in whole and whole.count(".") == 1:
        whole = whole.rstrip("0").rstrip(".")
    return whole


def _cut_ending(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")):
        word = word[:-2]
    elif word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    for ending in ("ing", "ed", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "lsz":
                word = word[:-1]
            break
    return word[:-1] if word.endswith("e") and len(word) > 3 else word


def read_words(text: str) -> list[Word]:
    """Return every word of the text with its stem and place.

    Characters of unspaced scripts are joined into overlapping pairs, the usual unit for counting
    words in them; one that stands alone is a word.
    """
    words: list[Word] = []
    previous: re.Match[str] | None = None
    paired = True
    for match in _TOKEN.finditer(text):
        token = match.group()
        unspaced = len(token) == 1 and _UNSPACED_LETTER.match(token) is not None
        joined = unspaced and previous is not None and previous.end() == match.start()
        if previous is not None and not joined and not paired:
            words.append(Word(previous.group(), previous.start(), previous.end()))
        if joined and previous is not None:
            words.append(Word(previous.group() + token, previous.start(), match.end()))
        elif not unspaced:
            words.append(Word(_STEMS[token], match.start(), match.end()))
        paired = joined
        previous = match if unspaced else None
    if previous is not None and not paired:
        words.append(Word(previous.group(), previous.start(), previous.end()))
    return words


def read_stems(text: str) -> list[str]:
    """Return the stems of `read_words` alone: several times as fast."""
    if _UNSPACED_LETTER.search(text):
        return [word.stem for word in read_words(text)]
    return [_STEMS[token] for token in _TOKEN.findall(text)]


def is_common(stem: str) -> bool:
    """Tell whether a stem carries no meaning of its own."""
    return stem in _COMMON_STEMS


_COMMON_STEMS = frozenset(COMMON_WORDS | {find_stem(word) for word in COMMON_WORDS})
