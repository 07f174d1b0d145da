"""Facts that can be compared without understanding: numbers, dates, names, negation.

What is found here serves twice: as evidence for the probability, and as the reason shown to the
reader ("the source says 139 m, the claim 200 m").
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from operator import attrgetter
from typing import NamedTuple

from claimwise.judges.lazy import lazy
from claimwise.text.words import (
    SPACED_NUMBER,
    find_stem,
    is_common,
    lower_letters,
    read_stems,
)

_SPELLED = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7,
    "eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90, "dozen": 12, "hundred": 100, "twice": 2, "half": 0.5,
}  # fmt: skip
_SCALE = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "mn": 1e6, "m": 1e6, "billion": 1e9,
    "bn": 1e9, "trillion": 1e12,
}  # fmt: skip
# unit -> (what it measures, factor); units that measure the same thing can be compared.
_UNITS: dict[str, tuple[str, float]] = {
    "mm": ("length", 1e-3), "cm": ("length", 1e-2), "m": ("length", 1), "km": ("length", 1e3),
    "metre": ("length", 1), "meter": ("length", 1), "kilometre": ("length", 1e3),
    "kilometer": ("length", 1e3), "centimetre": ("length", 1e-2), "centimeter": ("length", 1e-2),
    "mile": ("length", 1609.344), "foot": ("length", 0.3048), "feet": ("length", 0.3048),
    "ft": ("length", 0.3048), "inch": ("length", 0.0254), "yard": ("length", 0.9144),
    "g": ("mass", 1e-3), "mg": ("mass", 1e-6), "kg": ("mass", 1), "gram": ("mass", 1e-3),
    "milligram": ("mass", 1e-6), "kilogram": ("mass", 1), "tonne": ("mass", 1e3),
    "ton": ("mass", 1e3), "pound": ("pound", 1), "lb": ("pound", 1), "ounce": ("ounce", 1),
    "second": ("time", 1), "sec": ("time", 1), "minute": ("time", 60), "min": ("time", 60),
    "hour": ("time", 3600), "day": ("time", 86_400), "week": ("time", 604_800),
    "month": ("month", 1), "year": ("month", 12), "decade": ("month", 120),
    "century": ("month", 1200), "%": ("share", 1), "percent": ("share", 1),
    "per cent": ("share", 1), "percentage": ("share", 1), "$": ("dollar", 1),
    "dollar": ("dollar", 1),
    "usd": ("dollar", 1), "€": ("euro", 1), "euro": ("euro", 1), "eur": ("euro", 1),
    "米": ("length", 1), "公里": ("length", 1e3), "千米": ("length", 1e3), "厘米": ("length", 1e-2),
    "公斤": ("mass", 1), "千克": ("mass", 1), "元": ("yuan", 1),
    "£": ("sterling", 1), "gbp": ("sterling", 1), "¥": ("yen", 1), "yen": ("yen", 1),
    "litre": ("volume", 1), "liter": ("volume", 1), "l": ("volume", 1), "ml": ("volume", 1e-3),
    "kb": ("bytes", 1e3), "mb": ("bytes", 1e6), "gb": ("bytes", 1e9), "tb": ("bytes", 1e12),
    "kw": ("power", 1e3), "mw": ("power", 1e6), "gw": ("power", 1e9), "w": ("power", 1),
    "watt": ("power", 1), "mph": ("mph", 1), "km/h": ("km/h", 1), "°c": ("celsius", 1),
    "°f": ("fahrenheit", 1), "hz": ("frequency", 1), "khz": ("frequency", 1e3),
    "mhz": ("frequency", 1e6), "ghz": ("frequency", 1e9),
}  # fmt: skip
_UNIT_FORMS = {
    unit + ending: measured for ending in ("es", "s", "") for unit, measured in _UNITS.items()
}
MONTHS = {
    "january": 1, "jan": 1, "february": 2, "feb": 2, "march": 3, "mar": 3, "april": 4, "apr": 4,
    "may": 5, "june": 6, "jun": 6, "july": 7, "jul": 7, "august": 8, "aug": 8, "september": 9,
    "sept": 9, "sep": 9, "october": 10, "oct": 10, "november": 11, "nov": 11, "december": 12,
    "dec": 12,
}  # fmt: skip
_MONTH = "|".join(sorted(MONTHS, key=len, reverse=True))
# All but names are looked for in small letters: a pattern that ignores case is far slower.
_DATE = re.compile(
    r"\b(?:(?P<iso>(?P<y1>\d{4})-(?P<m1>\d{1,2})-(?P<d1>\d{1,2}))\b"
    rf"|(?P<d2>\d{{1,2}})(?:st|nd|rd|th)?(?:\s+of)?\s+(?P<m2>{_MONTH})\b\.?(?:,?\s+(?P<y2>\d{{4}})\b)?"
    rf"|(?P<m3>{_MONTH})\b\.?(?:\s+(?P<d3>\d{{1,2}})(?:st|nd|rd|th)?\b(?!\s*%)(?:,?\s+(?P<y3>\d{{4}})\b)?"
    r"|,?\s+(?P<y4>\d{4})\b))"
)
# Letters of unspaced scripts may touch a number ("高139米"), plain ones may not ("A4", "B2B").
_NUMBER = re.compile(
    r"(?P<currency>[$€£¥])?\s?(?<![a-z0-9_.])(?P<minus>(?<!\S)[-−])?"
    rf"(?P<number>\d+(?:,\d{{3}})+(?:\.\d+)?|{SPACED_NUMBER}|\d+(?:\.\d+)?)"
    r"(?:(?:st|nd|rd|th|s)?(?![a-z0-9_])"
    r"(?:[\s-]?(?P<scale>hundred|thousand|million|billion|trillion|bn|mn)\b)?"
    r"|(?P<attached>bn|mn|[km])(?![a-z0-9_]))"
    r"(?:[\s-]?(?P<unit>%|°[cf]|km/h|per cent|[a-z]+|公里|千米|厘米|米|公斤|千克|元))?"
    r"|(?<![a-z0-9_.])(?P<number2>\d+(?:\.\d+)?)(?P<unit2>[a-z]{1,5}|%)(?![a-z0-9_])"
)
_NUMBER_PARTS = (
    "currency", "minus", "number", "scale", "attached", "unit", "number2", "unit2"
)  # fmt: skip
_SPELLED_NUMBER = re.compile(
    rf"\b(?P<number>{'|'.join(_SPELLED)})\b"
    r"(?:[\s-](?P<ones>one|two|three|four|five|six|seven|eight|nine)\b)?"
    r"(?:[\s-](?P<scale>hundred|thousand|million|billion|trillion)\b)?"
    r"(?:[\s-](?P<unit>per cent|[a-z]+))?"
)
_SPELLED_STEMS = frozenset(map(find_stem, _SPELLED))
_MONTH_STEMS = frozenset(map(find_stem, MONTHS))
_DIGIT = re.compile(r"\d")
_NO_DIGIT = re.compile(r"[^\d.]")
_SEPARATOR = re.compile(r"[,\s]")
_BEFORE_DIGITS = 3  # a currency, a space, a minus
_NAME = re.compile(r"\b[A-Z][\w'’&-]*(?:\s+(?:(?:of|de|van|von|der|the|and|&)\s+)?[A-Z][\w'’&-]*)*")
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|neither|nor|nobody|nothing|without|cannot|hardly|"
    r"fail(?:s|ed)? to|refus(?:es|ed) to|unable to|un(?:likely|available|able|changed)|"
    r"(?:is|are|was|were|do|does|did|has|have|had|ca|wo|could|would|should|must)n['’]t)\b"
)
_DENYING_WORDS = (
    "not", "never", "no", "none", "neither", "nor", "nobody", "nothing", "without", "cannot",
    "hardly", "fails", "failed", "refuses", "refused", "unable", "unlikely", "unavailable",
    "unchanged",
)  # fmt: skip
_DENYING = frozenset(map(find_stem, _DENYING_WORDS))
_YEARS = (1000, 2100)
_OPENERS = frozenset(" \t\n\"'“«(")
_MOST_ZEROS = 300  # a float holds no more


class Quantity(NamedTuple):
    """A number with what it measures, in base units; ``what`` is "" for a bare number."""

    value: float
    what: str
    text: str
    start: int
    end: int


class Day(NamedTuple):
    """A date as far as it is given."""

    year: int | None
    month: int | None
    day: int | None
    text: str
    start: int
    end: int


class Name(NamedTuple):
    """A capitalised name; ``stems`` are its content words."""

    stems: tuple[str, ...]
    text: str
    start: int
    end: int


class Facts:
    """What can be compared in one stretch of text, looked for when it is asked for."""

    def __init__(self, text: str) -> None:
        self.text = text

    @lazy
    def small(self) -> str:
        """The text in small letters."""
        return lower_letters(self.text)

    @lazy
    def stems(self) -> list[str]:
        """The stems of its words, in order."""
        return read_stems(self.text)

    @lazy
    def stem_set(self) -> frozenset[str]:
        """The different stems."""
        return frozenset(self.stems)

    @lazy
    def has_digits(self) -> bool:
        """Whether it has a digit."""
        return _DIGIT.search(self.text) is not None

    @lazy
    def quantities(self) -> tuple[Quantity, ...]:
        """Its numbers, in order; those of dates are none."""
        # The stems, which are known, spare most texts the search.
        says_number = not self.stem_set.isdisjoint(_SPELLED_STEMS)
        spelled = _find_spelled(self.text, self.small) if says_number else []
        if not self.has_digits:
            return tuple(spelled)
        taken = {place for day in self.days for place in range(day.start, day.end)}
        found = [q for q in _find_digits(self.text, self.small) if q.start not in taken]
        return tuple(sorted(found + spelled, key=attrgetter("start")) if spelled else found)

    @lazy
    def days(self) -> tuple[Day, ...]:
        """Its dates."""
        dated = "-" in self.text or not self.stem_set.isdisjoint(_MONTH_STEMS)
        return _find_days(self.text, self.small) if dated and self.has_digits else ()

    @lazy
    def names(self) -> tuple[Name, ...]:
        """Its names."""
        return _find_names(self.text)

    @lazy
    def negations(self) -> int:
        """How often it says "not" or the like."""
        return count_negations(self.small) if self.may_deny else 0

    @lazy
    def may_deny(self) -> bool:
        """Whether it has a word that denies; most texts have none, and need not be searched."""
        small = self.small
        return not self.stem_set.isdisjoint(_DENYING) or "n't" in small or "n’t" in small


def count_negations(small: str) -> int:
    """Return how often an English text, in small letters, says "not" or the like."""
    return len(_NEGATION.findall(small))


def find_facts(text: str) -> Facts:
    """Return the numbers, dates, names and negations of a sentence, with offsets."""
    return Facts(text)


def _find_days(text: str, small: str) -> tuple[Day, ...]:
    days: list[Day] = []
    for match in _DATE.finditer(small):
        got = match.groupdict()
        year = next((got[k] for k in ("y1", "y2", "y3", "y4") if got[k]), None)
        month = next((got[k] for k in ("m1", "m2", "m3") if got[k]), None)
        day = next((got[k] for k in ("d1", "d2", "d3") if got[k]), None)
        number = int(month) if month and month.isdigit() else MONTHS.get(month or "")
        start, end = match.span()
        days.append(
            Day(
                int(year) if year else None, number, int(day) if day else None,
                text[start:end], start, end,
            )
        )  # fmt: skip
    return tuple(days)


def _find_digits(text: str, small: str) -> list[Quantity]:
    """Return the numbers that are written in digits.

    A letter right behind a number is a scale with a currency ("$2.1m") or as a "k", and else a
    unit ("139m").
    """
    found: list[Quantity] = []
    for match in _scan_numbers(small):
        currency, minus, number, scale, attached, unit, number2, unit2 = match.group(*_NUMBER_PARTS)
        digits, unit = number or number2, unit or unit2 or ""
        if attached == "m" and not currency:
            unit = attached
        elif currency and unit in ("m", "bn", "mn", "k"):
            scale = unit
        else:
            scale = scale or attached
        value = float(_SEPARATOR.sub("", digits))
        value *= _SCALE[scale] if scale else 1.0
        value = -value if minus else value
        found.append(_make_quantity(text, match, value, unit, digits, currency))
    return found


def _scan_numbers(small: str) -> Iterator[re.Match[str]]:
    """Yield the matches of ``_NUMBER``; looks only where there are digits."""
    at = 0
    while digit := _DIGIT.search(small, at):
        match = _NUMBER.search(small, max(at, digit.start() - _BEFORE_DIGITS))
        if match is None:
            return
        yield match
        at = match.end()


def _find_spelled(text: str, small: str) -> list[Quantity]:
    """Return the numbers that are written as words; a bare "one" is mostly a pronoun."""
    found: list[Quantity] = []
    for match in _SPELLED_NUMBER.finditer(small):
        word, unit = match["number"], match["unit"] or ""
        if word == "one" and not unit:
            continue
        value = float(_SPELLED[word])
        if match["ones"]:
            if not 20 <= value <= 90:  # "ten one-way tickets": two numbers, and no telling which
                continue
            value += _SPELLED[match["ones"]]
        value *= _SCALE.get(match["scale"] or "", 1.0)
        found.append(_make_quantity(text, match, value, unit))
    return found


def read_spelled(word: str) -> float | None:
    """Return the number that a word says; "one" alone says none, as it is mostly a pronoun."""
    word = word.lower()
    return float(_SPELLED[word]) if word in _SPELLED and word != "one" else None


def _make_quantity(
    text: str,
    match: re.Match[str],
    value: float,
    unit: str,
    digits: str | None = None,
    currency: str | None = None,
) -> Quantity:
    what, factor, known = _read_unit(currency, unit, digits, value)
    start, end = match.span()
    whole = text[start : end if known else end - len(unit)]
    shown = whole.lstrip()
    start += len(whole) - len(shown)
    shown = shown.rstrip(" -\n\t")
    return Quantity(value * factor, what, shown, start, start + len(shown))


def _read_unit(
    currency: str | None, unit: str, digits: str | None, value: float
) -> tuple[str, float, bool]:
    """Return what a number measures, the factor to base units, and whether the unit is known."""
    if currency:
        return (*_UNITS[currency], False)
    known = _UNIT_FORMS.get(unit)
    if known is not None:
        return (*known, True)
    if digits and len(digits) == 4 and digits.isdecimal() and _YEARS[0] <= value <= _YEARS[1]:
        return "year", 1.0, False
    return "", 1.0, False


def _find_names(text: str) -> tuple[Name, ...]:
    """Return capitalised runs; a lone capitalised word that opens a sentence is no name."""
    names: list[Name] = []
    for match in _NAME.finditer(text):
        name = match.group()
        if len(name.split()) == 1 and not name[1:].isupper() and _opens(text, match.start()):
            continue
        stems = tuple(s for s in read_stems(name) if not is_common(s) and s not in MONTHS)
        if stems:
            names.append(Name(stems, name, match.start(), match.end()))
    return tuple(names)


def _opens(text: str, at: int) -> bool:
    """Tell whether a sentence begins at a place.

    Only what separates it from the word before is looked at, so all places together take no
    longer than the text.
    """
    end = at
    while end and text[end - 1] in _OPENERS:
        end -= 1
    while end and text[end - 1].isspace():
        end -= 1
    before = at
    while before and text[before - 1].isspace():
        before -= 1
    return not end or text[before - 1] in ".!?:"


def same_quantity(claimed: Quantity, found: Quantity) -> bool:
    """Tell whether two numbers say the same, to the precision with which the claim gives it."""
    if claimed.what and found.what and claimed.what != found.what:
        return False
    if claimed.value == found.value:
        return True
    if "." in found.text or abs(found.value) >= 1000:  # a claim may round what a source spells out
        step = _precision(claimed)
        return abs(claimed.value - found.value) <= 0.5 * step and step <= 0.1 * abs(found.value)
    return False


def _precision(quantity: Quantity) -> float:
    """Return the size of the last digit that a number gives."""
    digits = _NO_DIGIT.sub("", quantity.text)
    plain = float(digits) if digits and digits != "." else 0.0
    if plain == 0:
        return 0.0
    unit = abs(quantity.value) / plain
    if "." in digits:
        return unit * float(10 ** -len(digits.split(".")[1]))
    zeros = len(digits) - len(digits.rstrip("0"))
    return unit * 10.0 ** min(zeros, _MOST_ZEROS)


def same_day(claimed: Day, found: Day) -> bool:
    """Tell whether a date agrees with another wherever the claim gives a part."""
    pairs = ((claimed.year, found.year), (claimed.month, found.month), (claimed.day, found.day))
    return all(mine is None or mine == other for mine, other in pairs)


@cache
def load_opposites() -> dict[str, frozenset[str]]:
    """Return the stems that say the opposite of a stem, by stem; a file has them in pairs."""
    text = (files("claimwise.judges") / "data" / "opposites.txt").read_text(encoding="utf-8")
    found: dict[str, frozenset[str]] = {}
    for line in text.splitlines():
        one, other = map(find_stem, line.split())
        found[one] = found.get(one, frozenset()) | {other}
        found[other] = found.get(other, frozenset()) | {one}
    return found
