"""Words as the verifier counts them: stems, numbers, and which words carry meaning.

A stem is a lower-cased word without its English ending; text in a script without spaces is
counted by pairs of characters. Both tiers, the training scripts and the baseline share these
functions, so a word means the same everywhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from importlib.resources import files
from itertools import chain
from typing import NamedTuple, TypeVar

from claimwise.text.languages import load_shared_words, load_small_words
from claimwise.text.word_limits import UNSPACED

_Read = TypeVar("_Read")

# “12 400”. Between plain spaces the first group is short: “rooms 101 102”, “2 100-mile routes”.
SPACED_NUMBER = r"\d{1,3}(?:[\u00a0\u2009\u202f]\d{3}(?!\d))+|\d{1,2}(?: \d{3}(?![\d-]))+"
# Numbers keep their separators; letters of unspaced scripts come one by one.
_TOKEN = re.compile(
    rf"(?<!\d)(?:{SPACED_NUMBER})|\d+(?:[.,]\d+)*|[{UNSPACED}]|[^\W\d_{UNSPACED}]+(?:['’][^\W\d_]+)?"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_UNSPACED_LETTER = re.compile(f"[{UNSPACED}]")
_RUSSIAN = re.compile(
    r"(?<=\w{4})(?:ами|ями|ого|его|ому|ему|ыми|ими|ов|ев|ей|ам|ям|ах|ях|ом|ем|ой|ый|ий|ая|яя|ое|ее|ые|"
    r"ие|ую|юю|а|я|о|е|ы|и|у|ю|ь)$"
)
_ARABIC = re.compile(r"^[وبلف]?ال(?=\w{3})|(?<=\w{4})ا$")
# French and Italian: “l'église”, “n'est”, “dell'arte”.
_ELIDED = frozenset(
    ("c", "d", "j", "l", "m", "n", "qu", "s", "t", "un", "all", "dall", "dell", "nell", "quell",
     "sull", "jusqu", "lorsqu", "puisqu")
)  # fmt: skip

_ENGLISH_WORDS = frozenset(
    (files("claimwise.text") / "data" / "common_words.txt").read_text(encoding="utf-8").split()
)


class Word(NamedTuple):
    """A counted word and its place."""

    stem: str
    start: int
    end: int


_make_word = partial(tuple.__new__, Word)  # half the time of ``Word(…)``


def find_stem(word: str) -> str:
    """Return the word in lower case without its most common English endings.

    Cuts possessives, plurals, -ed, -ing, -ly and doubled consonants left behind, and only while
    three letters remain. Numbers lose their thousands separators and trailing zeros.
    """
    if word[:1].isdigit():
        return _plain_number(word)
    word = word.lower().replace("’", "'")
    if "'" in word:
        word = _uncontract(word)
    if len(word) <= 3:
        return word
    return _cut_ending(word) if word.isascii() else _cut_foreign(word)


def _uncontract(word: str) -> str:
    """Return what a contraction begins with: "does" of "doesn't", "we" of "we'll"."""
    if word.endswith("n't"):
        return {"can't": "can", "won't": "will", "shan't": "shall"}.get(word, word[:-3] or "not")
    head, _, tail = word.partition("'")
    if head in _ELIDED and len(tail) > 2:
        return tail
    return head if tail in ("s", "ve", "re", "ll", "d", "m") else word.replace("'", "")


def _plain_number(word: str) -> str:
    whole = re.sub(r"[,\s](?=\d{3}(?:\D|$))", "", word)
    if "." in whole and whole.count(".") == 1:
        whole = whole.rstrip("0").rstrip(".")
    return whole


def _cut_foreign(word: str) -> str:
    """Cut the commonest endings of Russian, and the article of Arabic."""
    if word[0] > "\u05ff" and len(word) > 4:
        return _ARABIC.sub("", word)
    return _RUSSIAN.sub("", word) if "\u0400" <= word[0] <= "\u04ff" else word


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
    at = 0
    for run in text.split():
        at = text.index(run, at)
        for stem, start, end in _WORDS[run]:
            words.append(_make_word((stem, at + start, at + end)))
        at += len(run)
    return words


def read_stems(text: str) -> list[str]:
    """Return the stems of `read_words` alone: many times as fast."""
    return list(chain.from_iterable(map(_STEMS.__getitem__, text.split())))


def has_words(text: str) -> bool:
    """Tell whether a text has a word."""
    return any(map(_STEMS.__getitem__, text.split()))


def _split_run(run: str) -> tuple[Word, ...]:
    """Return the words of a text without spaces: no word, and no pair, goes across a space."""
    words: list[Word] = []
    previous: re.Match[str] | None = None
    paired = True
    for match in _TOKEN.finditer(run):
        token = match.group()
        unspaced = len(token) == 1 and _UNSPACED_LETTER.match(token) is not None
        joined = unspaced and previous is not None and previous.end() == match.start()
        if previous is not None and not joined and not paired:
            words.append(Word(previous.group(), previous.start(), previous.end()))
        if joined and previous is not None:
            words.append(Word(previous.group() + token, previous.start(), match.end()))
        elif not unspaced:
            words.append(Word(find_stem(token), match.start(), match.end()))
        paired = joined
        previous = match if unspaced else None
    if previous is not None and not paired:
        words.append(Word(previous.group(), previous.start(), previous.end()))
    return tuple(words)


class _Memory(dict[str, _Read]):
    """What was read in runs of characters without a space: most of a text's runs come again.

    Long runs are not kept, and all are forgotten before hostile text could fill the memory.
    """

    _LONGEST = 24
    _MOST = 100_000

    def __init__(self, read: Callable[[str], _Read]) -> None:
        self._read = read

    def __missing__(self, run: str) -> _Read:
        found = self._read(run)
        if len(run) <= self._LONGEST:
            if len(self) >= self._MOST:
                self.clear()
            self[run] = found
        return found


_WORDS = _Memory(_split_run)
_STEMS = _Memory(lambda run: tuple(word.stem for word in _split_run(run)))
_FOREIGN = _Memory(lambda run: not load_small_words().isdisjoint(_LETTERS.findall(run)))


def may_be_foreign(small: str) -> bool:
    """Tell whether a text in small letters has a letter or a small word that is not English."""
    return not small.isascii() or any(map(_FOREIGN.__getitem__, small.split()))


def is_common(stem: str) -> bool:
    """Tell whether a stem carries no meaning of its own."""
    return stem in COMMON_STEMS


def lower_letters(text: str) -> str:
    """Return the text in small letters, every letter in its place.

    Patterns look into this: one that ignores case is several times as slow.
    """
    return text.replace("İ", "i").lower()  # the one letter whose small form is longer


def _stem_all(words: frozenset[str]) -> frozenset[str]:
    return words | frozenset(map(find_stem, words))


ENGLISH_STEMS = _stem_all(_ENGLISH_WORDS)
# Small words of English that other languages write alike show no language.
ENGLISH_ALONE = ENGLISH_STEMS - load_shared_words()
# What English writes alike is not among the other languages' words.
COMMON_STEMS = ENGLISH_STEMS | _stem_all(load_small_words())
