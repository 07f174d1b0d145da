"""Other languages than English: their small words, denials and abbreviations (``languages.txt``).

A language is told by its script, else by its small words: two of them, or one beside letters that
English does not have, and more than there are English ones. Small words that English writes alike
show nothing.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from functools import cache

from claimwise.text.word_lists import read_sections

_SCRIPTS = (
    (re.compile(r"[\u3040-\u30ff]"), "japanese"),
    (re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]"), "chinese"),
    (re.compile(r"[\u0400-\u04ff]{2}"), "russian"),
    (re.compile(r"[\u0600-\u06ff]{2}"), "arabic"),
)
_OPENING = r"(?:^|[\s(\[«„“\"'’‘-])"


def find_language(text: str, words: Collection[str], english: int = 0) -> str | None:
    """Return the language of a text in small letters, by its different words; None is English.

    ``english`` is how many small words of English it has that other languages don't.
    """
    if not text.isascii():
        for script, language in _SCRIPTS:
            if script.search(text):
                return language
    markers = _load_markers()
    if markers.keys().isdisjoint(words):  # as most English
        return None
    sure = Counter(name for word in words for name in markers.get(word, ()))
    shared = Counter(
        name for word in words for name in _load_shared().get(word, ()) if name in sure
    )
    language, count = (sure + shared).most_common(1)[0]
    return language if count > english and count >= (2 if text.isascii() else 1) else None


def find_denials(text: str, language: str) -> list[tuple[int, int]]:
    """Return where a text in small letters, in a language, says “not” or the like."""
    pattern = _load_denials().get(language)
    return [match.span() for match in pattern.finditer(text)] if pattern else []


@cache
def load_small_words() -> frozenset[str]:
    """Return the small words of all languages that English does not write alike."""
    named = {name: words for name, words in _load_sections().items() if " " not in name}
    return frozenset(word for words in named.values() for word in words) - load_shared_words()


@cache
def load_shared_words() -> frozenset[str]:
    """Return the words of English that other languages write alike."""
    return frozenset(_load_sections()["shared"])


@cache
def _load_abbreviations() -> frozenset[str]:
    return frozenset(
        short
        for name, lines in _read_file().items()
        if name.endswith(" abbreviations")
        for line in lines
        for short in line.split("|")
    )


@cache
def load_last_words() -> frozenset[str]:
    """Return the last word of every abbreviation, without its full stop: “B” of “z. B.”."""
    return frozenset(short.split()[-1] for short in _load_abbreviations())


@cache
def compile_abbreviations() -> re.Pattern[str]:
    """Return what ends in an abbreviation, with its full stop, of any of the languages."""
    ordered = sorted(_load_abbreviations(), key=len, reverse=True)
    return re.compile(rf"{_OPENING}(?:{'|'.join(map(re.escape, ordered))})\.\s*+$")


@cache
def _load_markers() -> dict[str, tuple[str, ...]]:
    """Return the languages of every small word that English does not write alike."""
    return _list_languages(load_small_words())


@cache
def _load_shared() -> dict[str, tuple[str, ...]]:
    return _list_languages(load_shared_words())


def _list_languages(among: frozenset[str]) -> dict[str, tuple[str, ...]]:
    languages: dict[str, tuple[str, ...]] = {}
    for name, words in _load_sections().items():
        if name != "shared" and " " not in name:
            for word in among.intersection(words):
                languages[word] = (*languages.get(word, ()), name)
    return languages


@cache
def _load_denials() -> dict[str, re.Pattern[str]]:
    return {
        name.removesuffix(" denials"): re.compile("|".join(lines))
        for name, lines in _read_file().items()
        if name.endswith(" denials")
    }


@cache
def _load_sections() -> dict[str, list[str]]:
    return {name: " ".join(lines).split() for name, lines in _read_file().items()}


@cache
def _read_file() -> dict[str, list[str]]:
    return read_sections(__package__, "languages.txt")
