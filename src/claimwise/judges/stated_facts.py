"""What a claim or a piece of an answer states that can be held against another wording of it.

The numbers, dates, names and denials are those that all judges read (``reading.py``), after the
text was written in one way (``text/figures.py``).
"""

from __future__ import annotations

import re
from typing import NamedTuple

from claimwise.judges.amounts import Amount, same_figure
from claimwise.judges.facts import MONTHS, Day, Name
from claimwise.judges.kept_words import load_kept_words
from claimwise.judges.lazy import lazy
from claimwise.judges.reading import TextFacts
from claimwise.text.figures import write_figures
from claimwise.text.words import find_stem, is_common, read_stems

BEGINNING = 4  # letters that two forms of a name have in common
_UNREAD = "unread"
_WORD = re.compile(r"[^\W\d_]{4,}")
_INITIALS = re.compile(r"\b[A-Z]{2,6}\b")
_POWERS = ("squar", "cubic")  # as stems
_TOKEN = re.compile(r"\w(?:[\w.,:/-]*\w)?")  # takes time in proportion to the text
_DIGIT = re.compile(r"\d")
_LONG_MONTHS = "|".join(month.title() for month in MONTHS if len(month) > 3 and month != "sept")
_MONTH = re.compile(rf"\b(?:{_LONG_MONTHS}|(?<=\w )May)\b")
_ERA_WORDS = frozenset(("bc", "bce", "ad", "ce"))
_TITLES = load_kept_words("titles")
# A lone word that opens a sentence is a name unless its form shows a common noun or an adverb.
_COMMON_FORM = re.compile(
    r"(?:s|ing|ly|ed|tion|sion|ment|ness|ity|ance|ence|ism|ture|ship|hood|ward|fall)$"
)
_OPENER = re.compile(r"[\"'“(]*([A-Z][\w'’-]*)")
_LETTER = re.compile(r"(?<=[a-z] )[A-HJ-Z]\b(?!\.)")
_SHARE_WORDS = {
    word: kind
    for kind, words in {
        "all": "all every everyone always entirely completely",
        "most": "most mostly usually majority",
        "some": "some several sometimes partly partially",
        "few": "few rarely seldom hardly",
    }.items()
    for word in words.split()
}
_QUANTIFIER = re.compile(
    rf"(?<!the )(?<!at )\b({'|'.join(_SHARE_WORDS)})\b"
    r"(?! \d)(?! (?:important|of the time|common|\w+ than))"
)
_RATE = re.compile(r"\b(?:per|an?|every|each) (second|minute|hour|day|week|month|quarter|year)\b")
_FROM_TO = re.compile(r"\bfrom\s+\D{0,3}(\d[\d.,]*)\D{1,16}?to\s+\D{0,3}(\d[\d.,]*)")


class Value(NamedTuple):
    """A number of a text, or an end of a range, with the word that it counts."""

    amount: Amount
    value: float
    noun: str | None
    hedge: str

    @property
    def text(self) -> str:
        """The number as it is written."""
        return self.amount.text

    @property
    def is_one(self) -> bool:
        """Whether it is “one” or “first”, which often count nothing."""
        return self.value == 1 and self.amount.what in ("", "ordinal")


class StatedFacts:
    """What must be kept of one text, read as far as it is asked for."""

    def __init__(self, text: str, language: str | None = _UNREAD) -> None:
        self.facts = TextFacts(write_figures(text))
        if language != _UNREAD:
            # A claim is too short to tell its language: it is the piece's.
            self.facts.language = language

    @lazy
    def values(self) -> list[Value]:
        """Its numbers; a range is its two ends."""
        return [
            value for amount in self.facts.amounts for value in _read_values(amount, self.facts)
        ]

    @lazy
    def shares(self) -> dict[str, str]:
        """Which share of things it speaks of, “all” or “some”, with the word that says so."""
        return {_SHARE_WORDS[w]: w for w in _QUANTIFIER.findall(self.facts.small)}

    @lazy
    def rates(self) -> frozenset[str]:
        """The units of time that something is given for: “per month”, “a year”."""
        return frozenset(_RATE.findall(self.facts.small))

    @lazy
    def steps(self) -> tuple[str, ...]:
        """The numbers of “from 5 to 8”."""
        found = _FROM_TO.search(self.facts.text)
        return found.groups() if found else ()

    @lazy
    def years(self) -> frozenset[int]:
        """The years that it names, alone or in dates."""
        alone = {int(v.value) for v in self.values if v.amount.what == "year"}
        return frozenset(alone | {day.year for day in self.facts.days if day.year is not None})

    @lazy
    def months(self) -> frozenset[int]:
        """The months that it names."""
        named = {MONTHS[found.lower()] for found in _MONTH.findall(self.facts.text)}
        return frozenset(named | {day.month for day in self.facts.days if day.month is not None})

    @lazy
    def codes(self) -> dict[str, str]:
        """Words with a digit that are no numbers: “A380”, “2/3”, “COVID-19”."""
        facts = self.facts
        if not facts.has_digits:
            return {}
        read: list[Amount | Day] = [*facts.amounts, *facts.days]
        return {
            found.group().lower(): found.group()
            for found in _TOKEN.finditer(facts.text)
            if _DIGIT.search(found.group())
            and not any(one.start < found.end() and found.start() < one.end for one in read)
        }

    @lazy
    def names(self) -> list[Name]:
        """Its names, with a lone word that opens it if that looks like one."""
        facts = self.facts
        if facts.language == "german":
            return []
        return [name for name in map(_trim_name, _list_names(facts)) if name is not None]

    @lazy
    def opener(self) -> Name | None:
        """The lone word that opens it, whether it looks like a name or not."""
        found = _list_names(self.facts)[:1]
        return found[0] if found and found[0].start < 2 and " " not in found[0].text else None

    def list_names(self, other: StatedFacts) -> list[Name]:
        """Return its names, with the word that opens it if another text has that as a name."""
        first = self.opener
        if first is None or first in self.names or not other.name_stems.issuperset(first.stems):
            return self.names
        return [first, *self.names]

    @lazy
    def labels(self) -> frozenset[str]:
        """The words of its names, and letters that tell things apart: “tower B”."""
        return self.name_stems.union(_LETTER.findall(self.facts.text))

    @lazy
    def initials(self) -> frozenset[str]:
        """Its words in capitals; some are common words otherwise: “US”, “WHO”."""
        return frozenset(_INITIALS.findall(self.facts.text))

    @lazy
    def forms(self) -> dict[str, set[str]]:
        """Its longer words by the letters that they begin with."""
        found: dict[str, set[str]] = {}
        for word in _WORD.findall(self.facts.small):
            found.setdefault(word[:BEGINNING], set()).add(word)
        return found

    @lazy
    def name_stems(self) -> frozenset[str]:
        """The content words of its names."""
        return frozenset(stem for name in self.names for stem in name.stems)


def _read_values(amount: Amount, facts: TextFacts) -> list[Value]:
    noun = _find_noun(amount, facts)
    if amount.given is None:
        ends = dict.fromkeys((amount.low, amount.high))
        return [Value(amount, end, noun, "") for end in ends]
    after_from = facts.small[: amount.start].rstrip(" $€£¥").endswith("from")
    return [Value(amount, amount.given.value, noun, "" if after_from else amount.hedge)]


def _find_noun(amount: Amount, facts: TextFacts) -> str | None:
    """Return what a number counts; “square” and “cubic” with the unit behind them."""
    noun = facts.counted_by(amount.end)
    if noun not in _POWERS:
        return noun
    following = facts.text[amount.end :].split()[1:2]
    return " ".join([noun, *map(find_stem, read_stems(following[0]) if following else [])])


def _list_names(facts: TextFacts) -> list[Name]:
    """Return the names of a text, and the word that opens it where that is none and may be one."""
    opener = _OPENER.match(facts.text)
    found = list(facts.names)
    if opener is None or any(name.start <= opener.start(1) < name.end for name in found):
        return found
    start, end = opener.span(1)
    stems = tuple(stem for stem in read_stems(opener[1]) if not is_common(stem))
    if not stems or any(at <= start < last for at, last in facts.denials):
        return found
    return [Name(stems, opener[1], start, end), *found]


def _trim_name(name: Name) -> Name | None:
    """Return a name without titles, eras, months and what opens a sentence as any word may."""
    words = name.text.split()
    stems = [s for s in name.stems if s not in _TITLES and s not in _ERA_WORDS and len(s) > 1]
    stems = [s for s in stems if not s[0].isdigit() and s not in MONTHS]
    lone = len(words) == 1 or words[1].islower()  # not “Venus Williams”
    if name.start == 0 and lone and _COMMON_FORM.search(words[0].lower()):
        stems = [s for s in stems if s != find_stem(words[0])]
    return Name(tuple(stems), name.text, name.start, name.end) if stems else None


def has_value(value: Value, other: Value) -> bool:
    """Tell whether two numbers are the same one, whatever they count."""
    mine, theirs = value.amount, other.amount
    if mine.given is not None and theirs.given is not None:
        decades = mine.text.endswith("0s") != theirs.text.endswith("0s")
        return not decades and same_figure(mine.given, theirs.given)
    if mine.what.startswith("clock") or theirs.what.startswith("clock"):
        unsure = "clock12" in (mine.what, theirs.what)
        clocks = mine.what[:5] == theirs.what[:5]
        return clocks and (value.value - other.value) % (720 if unsure else 1440) == 0
    units = mine.what == theirs.what or "" in (mine.what, theirs.what)
    return units and abs(value.value - other.value) <= 1e-9 * abs(value.value)


def gives(read: StatedFacts, value: Value) -> bool:
    """Tell whether a text gives a number."""
    if value.amount.what == "year" and int(value.value) in read.years:
        return True
    return any(has_value(other, value) for other in read.values)


class Surroundings:
    """The answer and the question, read only if a claim takes something from them."""

    def __init__(self, text: str) -> None:
        self.text = text

    @lazy
    def facts(self) -> StatedFacts:
        """What they state."""
        return StatedFacts(self.text)
