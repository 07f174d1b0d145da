"""Writes numbers and dates in one way, so that two wordings of a fact read alike.

“Two hundred and fifty” is 250, “the third” the 3rd, “two-thirds” 2/3, “20/07/1969” 1969-07-20,
“EUR 5” €5, “half of” 50% of and “1 000” 1000. English words alone; a bare “one” is mostly a
pronoun and stays. A date of which both day and month may be either (03/05/2024) stays as it is.
"""

from __future__ import annotations

import re

from claimwise.text.words import lower_letters

_ONES = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14,
    "fifteen": 15, "sixteen": 16, "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20,
    "thirty": 30, "forty": 40, "fifty": 50, "sixty": 60, "seventy": 70, "eighty": 80,
    "ninety": 90,
}  # fmt: skip
_SCALES = {
    "hundred": 100, "thousand": 1_000, "million": 10**6, "billion": 10**9, "trillion": 10**12,
}  # fmt: skip
_ORDINALS = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7,
    "eighth": 8, "ninth": 9, "tenth": 10, "eleventh": 11, "twelfth": 12, "thirteenth": 13,
    "fourteenth": 14, "fifteenth": 15, "sixteenth": 16, "seventeenth": 17, "eighteenth": 18,
    "nineteenth": 19, "twentieth": 20, "thirtieth": 30, "hundredth": 100,
}  # fmt: skip
_PARTS = {
    "half": 2, "halves": 2, "third": 3, "thirds": 3, "quarter": 4, "quarters": 4, "fourth": 4,
    "fourths": 4, "fifth": 5, "fifths": 5, "sixth": 6, "sixths": 6, "eighth": 8, "eighths": 8,
    "tenth": 10, "tenths": 10,
}  # fmt: skip
_SIGNS = {"½": "1/2", "⅓": "1/3", "⅔": "2/3", "¼": "1/4", "¾": "3/4"}
_CODES = {"eur": "€", "usd": "$", "us$": "$", "gbp": "£", "jpy": "¥"}
_ROMAN = {
    "II": 2, "III": 3, "IV": 4, "VI": 6, "VII": 7, "VIII": 8, "IX": 9, "XI": 11, "XII": 12,
    "XIII": 13, "XIV": 14, "XV": 15, "XVI": 16, "XVIII": 18,
}  # fmt: skip
_ONE = "|".join(sorted(_ONES, key=len, reverse=True))
_SCALE = "|".join(_SCALES)
_ORDINAL = "|".join(sorted(_ORDINALS, key=len, reverse=True))
_PART = "|".join(sorted(_PARTS, key=len, reverse=True))
# Two numbers side by side (“two one-way tickets”) are one only where the rules below say so.
_NUMBER_WORDS = re.compile(
    rf"\b(?:(?:{_ONE}|an?(?=[ -](?:{_SCALE}|dozen)\b))"
    rf"(?:(?:[ -]|,? and )(?:{_ONE}|{_SCALE})\b)*(?:[ -](?:{_ORDINAL})\b)?"
    rf"(?:[ -](?:{_PART}|dozen)\b)?|(?:{_ORDINAL}))\b(?!['’])"
)
_WORD = re.compile(r"[a-z]+")
_MAY_SPELL = re.compile(
    r"one|two|three|four|five|six|seven|eight|nine|ten|eleven|twel|teen|ty\b|ty-|fir|sec|thir|"
    r"fif|nin|tieth|dozen|hundred|thousand|illion"
)
_GROUPED = re.compile(r"(?<![\w.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?![\d.,]*\d)")
_SLASHED = re.compile(r"(?<![\w/.-])(\d{1,4})([/.])(\d{1,2})\2(\d{2,4})(?![\w/-])")
_CODED = re.compile(r"\b(eur|usd|us\$|gbp|jpy)\s?(?=\d)", re.IGNORECASE)
_DEGREES = re.compile(r"(?<=\d)\s?(?:degrees?|°)\s?(c|f)(?:elsius|entigrade|ahrenheit)?\b", re.I)
_MINUS = re.compile(r"\b(?:minus|negative)\s(?=\d)", re.IGNORECASE)
_WRITTEN = (
    (re.compile(r"\*+"), ""),  # Markdown's emphasis: “**1998:**”
    (re.compile(r"(?<=\d):(?!\d)"), " :"),  # which would be taken for a part of a time
    (re.compile(r"(?<=[mt])re(?=s?\b)"), "er"),  # metre, litre
    (re.compile(r"\bas (?:much|many|high|long) as (?=[$€£¥]?\d)", re.IGNORECASE), "up to "),
    (
        re.compile(r"(?<=\d)\s?(?:kilomet(?:re|er)s?|km) (?:per|an|a) hour\b", re.IGNORECASE),
        " km/h",
    ),
    (re.compile(r"(?<=\d)\s?miles? (?:per|an|a) hour\b", re.IGNORECASE), " mph"),
)
_SHARES = {"half": "50%", "1/2": "50%", "1/4": "25%", "a quarter": "25%", "3/4": "75%"}
_SHARE = re.compile(r"\b(1/2|1/4|3/4|half|a quarter) of\b", re.IGNORECASE)
_QUARTER = re.compile(r"\bQ([1-4])\b")
_DECADE = re.compile(r"\b(the )(twent|thirt|fort|fift|sixt|sevent|eight|ninet)ies\b", re.IGNORECASE)
_DECADES = ("twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet")
_SIGN = re.compile(f"[{''.join(_SIGNS)}]")
_NUMERAL = re.compile(r"(?<=[a-z] )(?:XVIII|XVI|XIV|XIII|XII|XI|XV|VIII|VII|VI|IV|IX|III|II)\b")


# “World War I”, not “Yesterday I went”.
_FIRST = re.compile(r"(?<=\w )([A-Z][a-z]+) I\b(?!['’])")


def write_figures(text: str) -> str:
    """Return a text with its numbers and dates in figures, as far as that is certain."""
    small = lower_letters(text)
    if _MAY_SPELL.search(small):
        text = _write_spelled(text, small)
    if any(char.isdigit() for char in text):
        text = _GROUPED.sub(lambda found: re.sub(r"\s", "", found.group()), text)
        text = _SLASHED.sub(_write_date, text)
        text = _CODED.sub(lambda found: _CODES[found[1].lower()], text)
        text = _DEGREES.sub(lambda found: f" °{found[1].upper()}", text)
        text = _MINUS.sub("-", text)
        text = _QUARTER.sub(lambda found: f"{_write_ordinal(int(found[1]))} quarter", text)
        for pattern, written in _WRITTEN:
            text = pattern.sub(written, text)
    text = _SHARE.sub(lambda found: f"{_SHARES[found[1].lower()]} of", text)
    text = _DECADE.sub(lambda found: f"{found[1]}19{_DECADES.index(found[2].lower()) + 2}0s", text)
    if not text.isascii():
        text = _SIGN.sub(lambda found: _SIGNS[found.group()], text)
    text = _FIRST.sub(r"\1 1", text)
    return _NUMERAL.sub(lambda found: str(_ROMAN[found.group()]), text)


def _write_spelled(text: str, small: str) -> str:
    parts, at = [], 0
    for found in _NUMBER_WORDS.finditer(small):
        figure = _read_number(_WORD.findall(found.group()))
        if figure is not None:
            parts += [text[at : found.start()], figure]
            at = found.end()
    return "".join([*parts, text[at:]])


def _read_number(words: list[str]) -> str | None:
    """Return the figure that number words stand for; None where they make no single number."""
    words = [word for word in words if word not in ("and", "a", "an")] or words
    last = words[-1]
    if last == "dozen":
        count = _add_up(words[:-1] or ["one"])
        return None if count is None else str(12 * count)
    if last in _PARTS and len(words) > 1 and not (last in _ORDINALS and words[-2] in _TENS):
        count = _add_up(words[:-1])
        return None if count is None else f"{count}/{_PARTS[last]}"
    if last in _ORDINALS:
        rest = _add_up(words[:-1]) if len(words) > 1 else 0
        return None if rest is None else _write_ordinal(rest + _ORDINALS[last])
    if words == ["one"]:
        return None
    if all(word in _SCALES for word in words):
        words = ["one", *words]
    total = _add_up(words)
    return None if total is None else str(total)


_TENS = frozenset(word for word, value in _ONES.items() if value >= 20)


def _add_up(words: list[str]) -> int | None:
    """Return the sum that number words say: “two thousand five hundred and six” is 2506."""
    total, group, last = 0, 0, 0
    for word in words:
        if word in _SCALES:
            scale = _SCALES[word]
            group = (group or 1) * scale
            if scale > 100:
                total, group = total + group, 0
            last = scale
        elif word in _ONES:
            value = _ONES[word]
            if last and last < 100 and not (last >= 20 and value < 10):
                return None  # “two three”: two numbers
            group, last = group + value, value
        else:
            return None
    return total + group


def _write_ordinal(number: int) -> str:
    ending = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if 10 <= number % 100 <= 20 else ending}"


def _write_date(found: re.Match[str]) -> str:
    """Return a date as year, month and day; unchanged where it may be read in two ways."""
    first, second, last = int(found[1]), int(found[3]), int(found[4])
    if len(found[1]) == 4:
        year, month, day = first, second, last
    elif len(found[4]) != 4:
        return found.group()
    elif found[2] == "." or first > 12 or first == second:
        year, month, day = last, second, first
    elif second > 12:
        year, month, day = last, first, second
    else:
        return found.group()
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return found.group()
    return f"{year:04}-{month:02}-{day:02}"
