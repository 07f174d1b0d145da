"""What to doubt in a closed-book label: numbers, value judgements, specialist text."""

from __future__ import annotations

import re
from collections import Counter
from functools import cache
from importlib.resources import files

from claimwise.judges.facts import find_facts
from claimwise.text.words import find_stem, read_stems

# “Twelve months” is general knowledge; a larger number is a specific one.
_SMALL = 12
# Two words of a field may be chance in a long answer, so they must also be frequent enough.
_FEWEST = 2
_SHARE = 1 / 60
# A figure that stands alone is a quantity or a part of a date, whatever surrounds it.
_FIGURE = re.compile(r"(?<!\S)\d++(?!\w)")
_VALUE = re.compile(
    r"\b(?:best(?![ -](?:\w+ed|known|selling|before|man)\b)|worst|finest|greatest|nicest"
    r"|(?:most|least) (?:important|significant|influential|beautiful|impressive|interesting|iconic"
    r"|elegant|exciting|fascinating|inspiring|remarkable|delicious|brilliant|powerful|innovative)"
    r"|more important than|should always|must-(?:see|have|read))\b"
)  # in small letters


def has_specifics(text: str) -> bool:
    """Tell whether a claim rests on a number or a date: where a judge that guesses is found out.

    Years and dates count, and numbers in figures; of spelled ones those above twelve.
    """
    if _FIGURE.search(text):
        return True
    facts = find_facts(text)
    return bool(facts.days) or any(
        quantity.value > _SMALL or any(char.isdigit() for char in quantity.text)
        for quantity in facts.quantities
    )


def has_value_words(text: str) -> bool:
    """Tell whether a claim ranks by worth (“the most important”): nothing makes that true."""
    return _VALUE.search(text.lower()) is not None


def find_field(text: str) -> str | None:
    """Return the specialist field that a text is from, by its words; None for general text.

    Two different words of the field, and one word in sixty, must be its own; of two fields that
    have as many, the one that comes first is taken. The list is English and short: it finds plain
    cases, to warn of a missing domain hint.
    """
    stems = read_stems(text)
    words = _load_fields()
    found = Counter(words[stem] for stem in dict.fromkeys(stems) if stem in words)
    if not found:
        return None
    field, count = found.most_common(1)[0]
    frequent = sum(words.get(stem) == field for stem in stems) >= _SHARE * len(stems)
    return field if count >= _FEWEST and frequent else None


@cache
def _load_fields() -> dict[str, str]:
    """Return the field of every listed word's stem."""
    words: dict[str, str] = {}
    field = ""
    text = (files("claimwise.judges") / "data" / "specialist_words.txt").read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            field = line.strip("[]")
        elif not line.startswith("#"):
            words.update((find_stem(word), field) for word in line.split())
    return words
