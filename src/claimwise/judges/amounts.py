"""Amounts as a reader takes them: ranges, "more than", "about", clock times, ordinals, decades.

Numbers alone would make "more than 100" deny 120 and "3 to 5 days" deny 4. An amount says
between which values the truth may lie; two amounts disagree only if none lies in both.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from claimwise.judges.facts import Facts, Quantity, read_spelled, same_quantity
from claimwise.text.word_limits import UNSPACED

_CONVERTED = 0.03  # how far a figure given in another unit may be rounded
_ABOUT = 0.1  # how far "about" reaches
_HALF_DAY = 720
_MOST = 30  # numbers of one sentence; more is a table, and not worth the time
_MORE = (
    r"(?:more|greater|higher|longer|larger|older|better) than|over|above|at least|"
    r"exceed(?:s|ed|ing)?|(?:no|not) (?:less|fewer) than|upwards of|minimum of|from"
)
_LESS = (
    r"(?:less|fewer|lower|smaller|shorter|younger) than|under|below|at most|(?:no|not) more than|"
    r"up to|as many as|maximum of"
)
_ROUGHLY = (
    r"about|around|approximately|approx\.?|roughly|nearly|almost|some|circa|ca?\.|close to|~|≈"
)
# Both are looked for in small letters.
_HEDGE = re.compile(
    rf"(?<!\w)(?:(?P<more>{_MORE})|(?P<less>{_LESS})|(?P<about>{_ROUGHLY}))\s*[$€£¥]?\s*$"
)
_AFTER = re.compile(r"\s*(?:(?P<more>\+|or (?:more|above|older|over))|(?P<about>or so))")
_REACH = 24  # characters before a number that may hold one of these
_JOINT = re.compile(r"\s*(?:-|–|—|to|through|until|and)\s*[$€£¥]?\s*", re.IGNORECASE)
_CLOCK = re.compile(
    r"(?<![\w.:])(?P<hour>\d{1,2})(?:[:.](?P<minute>[0-5]\d))?\s?(?P<half>[ap]m\b|[ap]\.m\.)"
    r"|(?<![\w.:])(?P<hour2>[01]?\d|2[0-4]):(?P<minute2>[0-5]\d)(?![\w:])",
    re.IGNORECASE,
)
_HAS_CLOCK = re.compile(r"\d(?:\s?[ap]\.?m|:\d)")  # in small letters
_ORDINAL = re.compile(r"\d(?:st|nd|rd|th)$", re.IGNORECASE)
_GOES_ON = re.compile(r"-(?:one|two|three|four|five|six|seven|eight|nine)\b", re.IGNORECASE)
_SPACE = re.compile(r"[\s-]")
_PART_BEFORE = re.compile(r"\w[-‑/]$|[/.:#]$|−$")
_RANGE_BEFORE = re.compile(r"\d[-‑]$")
_PART_AFTER = re.compile(rf"(?![{UNSPACED}])[\w/:]|\.\d")
_ONE_NUMBER = re.compile(r"[\s-]+|\s+and\s+")
_BETWEEN = re.compile(r"\bbetween\s+[$€£¥]?$", re.IGNORECASE)
_DIGITS = re.compile(r"\d[\d,]*(?:\.\d+)?")


class Amount(NamedTuple):
    """Between which values a number may lie, what it measures, and where it stands."""

    low: float
    high: float
    what: str
    hedge: str  # "more", "less", "about" or ""
    text: str
    start: int
    end: int
    given: Quantity | None  # the number itself, where it is one


def read_amounts(facts: Facts) -> list[Amount]:
    """Return the amounts of a sentence.

    Left out are numbers that are a part of a name ("COVID-19", "U-30"), of a fraction or of a
    longer number that was read only in part, and whatever comes after the first few dozen.
    """
    text = facts.text
    if not facts.has_digits and not facts.quantities:
        return []
    clocks = list(islice(_read_clocks(text), _MOST)) if _HAS_CLOCK.search(facts.small) else []
    usable = [
        q for q in facts.quantities[:_MOST]
        if not any(c.start <= q.start < c.end for c in clocks) and _stands_alone(text, q)
    ]  # fmt: skip
    return [*clocks, *_join_ranges(facts, usable)]


def read_years(facts: Facts) -> list[Amount]:
    """Return the years that full dates give."""
    return [
        Amount(day.year, day.year, "year", "", day.text, day.start, day.end, None)
        for day in facts.days
        if day.year is not None
    ]


def _read_clocks(text: str) -> Iterator[Amount]:
    """Yield clock times in minutes; without "am" or "pm" a time before 13:00 may be either."""
    for match in _CLOCK.finditer(text):
        hour = int(match["hour"] or match["hour2"])
        minutes = 60 * (hour % 12 if match["half"] else hour)
        minutes += int(match["minute"] or match["minute2"] or 0)
        if match["half"] and match["half"][0] in "pP":
            minutes += _HALF_DAY
        unsure = not match["half"] and hour <= 12
        what = "clock12" if unsure else "clock"
        yield Amount(
            minutes, minutes, what, "", match.group().strip(), match.start(), match.end(), None
        )


def _stands_alone(text: str, quantity: Quantity) -> bool:
    before = text[max(0, quantity.start - 2) : quantity.start]
    after = text[quantity.end : quantity.end + 2]
    if _PART_BEFORE.search(before) and not _RANGE_BEFORE.search(before):
        return False
    return not _PART_AFTER.match(after) and not _GOES_ON.match(text, quantity.end)


def _join_ranges(facts: Facts, quantities: Sequence[Quantity]) -> Iterator[Amount]:
    """Yield the quantities in order, the two ends of a range as one amount."""
    text, at = facts.text, 0
    while at < len(quantities):
        first = quantities[at]
        rest = quantities[at + 1 : at + 2]
        joined = _join(text, first, rest[0]) if rest else None
        if joined is not None:
            yield joined
        elif rest and _is_one_number(text, first, rest[0]):
            at += 2  # "twenty-five" comes as two numbers; none is better than two wrong ones
            continue
        else:
            yield _read_one(facts.small, first)
        at += 2 if joined else 1


def _is_one_number(text: str, first: Quantity, last: Quantity) -> bool:
    between = text[first.end : last.start]
    spelled = not _DIGITS.search(first.text) and not _DIGITS.search(last.text)
    return spelled and _ONE_NUMBER.fullmatch(between) is not None


def _join(text: str, first: Quantity, last: Quantity) -> Amount | None:
    between = text[first.end : last.start]
    if not _JOINT.fullmatch(between):
        return None
    before = text[max(0, first.start - _REACH) : first.start]
    if "and" in between and not _BETWEEN.search(before):
        return None
    what = first.what or last.what
    if last.what not in ("", what) or _is_ordinal(first) or _is_ordinal(last):
        return None
    # "3 to 5 days", "$5–10 million": what the second number says holds for the first too.
    factor = last.value / (_plain(last) or 1.0)
    low = first.value * factor if first.value == _plain(first) else first.value
    high = last.value
    if not low < high:
        return None
    shown = text[first.start : last.end]
    return Amount(low, high, what, "", shown, first.start, last.end, None)


def _read_one(small: str, quantity: Quantity) -> Amount:
    what, low, high = quantity.what, quantity.value, quantity.value
    if _is_ordinal(quantity):
        what = "ordinal"
    elif quantity.text.endswith("0s"):  # the 1980s
        what, high = "year" if low >= 1000 else "decade", low + 9
    hedge = _find_hedge(small, quantity) if what not in ("year", "ordinal") else ""
    if hedge == "more":
        high = math.inf
    elif hedge == "less":
        low = -math.inf
    elif hedge == "about":
        low, high = low - _ABOUT * abs(low), high + _ABOUT * abs(high)
    return Amount(low, high, what, hedge, quantity.text, quantity.start, quantity.end, quantity)


def _find_hedge(small: str, quantity: Quantity) -> str:
    match = _HEDGE.search(small, max(0, quantity.start - _REACH), quantity.start)
    match = match or _AFTER.match(small, quantity.end)
    return (match.lastgroup or "") if match else ""


def _is_ordinal(quantity: Quantity) -> bool:
    return _ORDINAL.search(quantity.text) is not None


def _plain(quantity: Quantity) -> float | None:
    """Return the number as it is written, without its unit."""
    match = _DIGITS.search(quantity.text)
    if match:
        return float(match.group().replace(",", ""))
    return read_spelled(_SPACE.split(quantity.text, maxsplit=1)[0])


def comparable(claimed: Amount, told: Amount) -> bool:
    """Tell whether two amounts measure the same kind of thing."""
    clocks = ("clock", "clock12")
    return claimed.what == told.what or (claimed.what in clocks and told.what in clocks)


def agree(claimed: Amount, told: Amount) -> bool:
    """Tell whether both amounts can be true, as far as the numbers go."""
    if "clock12" in (claimed.what, told.what) and comparable(claimed, told):
        return claimed.low % _HALF_DAY == told.low % _HALF_DAY
    if claimed.given and told.given and _same(claimed.given, told.given):
        return True
    if not comparable(claimed, told):
        return False
    if claimed.hedge == told.hedge and claimed.hedge in ("more", "less"):
        return False  # "above 50 euros" is not "above 30 euros"
    return claimed.low <= told.high and told.low <= claimed.high


def entails(told: Amount, claimed: Amount) -> bool:
    """Tell whether the claimed amount follows from the told one, as far as the numbers go.

    A bare number of four digits (“1930 points”) looks like a year, the same with a comma does not.
    """
    if not comparable(claimed, told):
        return {claimed.what, told.what} == {"", "year"} and _are_written_apart(claimed, told)
    if "clock12" in (claimed.what, told.what):
        return agree(claimed, told)
    if claimed.hedge == told.hedge and claimed.given and told.given:
        return _same(claimed.given, told.given)
    return claimed.low <= told.low and told.high <= claimed.high


def _are_written_apart(one: Amount, other: Amount) -> bool:
    """Tell whether two amounts are one number, with and without its comma: “1,930” and “1930”."""
    if one.hedge or other.hedge or one.given is None or other.given is None:
        return False
    return ("," in one.text or "," in other.text) and _plain(one.given) == _plain(other.given)


def same_figure(first: Quantity, other: Quantity) -> bool:
    """Tell whether two numbers are the same one, without rounding; a unit may be left out."""
    if first.what == other.what:
        return math.isclose(first.value, other.value, rel_tol=1e-9)
    if first.what and other.what:
        return False
    return _plain(first) == _plain(other) is not None


def _same(claimed: Quantity, told: Quantity) -> bool:
    """Compare numbers to the coarser of their precisions, and across units."""
    if same_quantity(claimed, told) or same_quantity(told, claimed):
        return True
    if not (claimed.what and told.what) and _plain(claimed) == _plain(told) is not None:
        return True  # "52" and "52-year-old"
    if claimed.what != told.what or not claimed.what:
        return False
    alike = math.isclose(claimed.value, told.value, rel_tol=_CONVERTED)
    return alike and _unit(claimed) != _unit(told)


def _unit(quantity: Quantity) -> str:
    return _DIGITS.sub("", quantity.text).strip(" -").lower().removesuffix("s")
