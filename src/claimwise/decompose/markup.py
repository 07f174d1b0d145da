"""Markdown and citation markers, told apart from what an answer says.

Markup is masked, not cut out: the masked text has the length of the original, so that offsets
found in one hold in the other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from claimwise.types.verdicts import Mark

# A private-use character; it stands where markup stood.
_FILL = "\ue000"
_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LONGEST_RANGE = 20

# Before the first word of a sentence: quote marks, heading marks, bullets, numbers, checkboxes.
_PREFIX = re.compile(
    r"[\s>]*+(?:(?P<heading>\#{1,6}(?=\s|$))"
    r"|(?P<item>(?:[-*+–—•‣◦▪](?=\s)|[•‣◦▪]|\(?\d{1,3}[.)](?=\s)|\(?[a-z]\)(?=\s))))?\s*+"
    r"(?:\[[ xX]\](?=\s)\s*+)?"
)
_ONLY_MARKUP = re.compile(r"[-*_=|:#>+~\s\ue000]*+")
_MARKUP = re.compile(
    r"""
      (?P<code>(?P<ticks>`{1,3})(?P<inner>[^`\n]++)(?P=ticks))
    | !\[(?P<alt>[^\[\]\n]*+)\]\([^()\s]*+\)
    | (?P<link>\[(?P<label>[^\[\]\n]++)\]\((?P<url>[^()\s]++)(?:[ ]"[^"\n]*+")?\))
    | <(?P<auto>https?://[^<>\s]++)>
    | (?P<numbers>\[\^?\d{1,4}(?:[ ]?[-–,;][ ]?\^?\d{1,4})*\])
    | (?P<named>\[(?:\^[\w.-]{1,40}
        | (?:doc|document|source|src|ref|chunk|passage|context|cite|citation)s?
          (?:[ _:\#-]{1,2}[\w./-]{1,60}|\d{1,6})
        | [\w./-]{1,60}\.(?:md|pdf|txt|html?|docx?|json|csv))\])
    | (?P<dagger>【(?P<ref>\d[\d:]*+)[^【】\n]{0,60}】)
    | (?P<source>\((?:sources?|refs?|citations?):\s?(?P<title>[^()\n]{1,120})\))
    | (?P<file>\((?:see\s)?(?P<path>[\w./-]{1,60}\.(?:md|pdf|html?|docx?|pptx?))
        (?:,?\s(?:p|pp|pages?|section|sec)\b\.?\s?[\d.–-]{1,9})?\)(?=\s*(?:[.;,!?]|$)))
    | (?P<year>\((?:see\s|e\.g\.,?\s|cf\.\s)?(?!(?:january|february|march|april|may|june|july|august
        |september|october|november|december)\b)(?P<author>(?-i:[^\W\d_a-z])[\w'’-]{1,30})
        [^()\d\n]{0,80}(?:,|\bal\.)\s(?P<date>(?:19|20)\d\d[a-z]?)(?:[,;:][^()\n]{1,80})?\))
    | (?P<super>(?:(?<=[.,;:!?)”"’\]])|(?<=[a-z]{4}))[⁰¹²³⁴-⁹]{1,6}(?!\w))
    | (?P<drop></?[a-z][^<>\n]{0,200}>|~~|\*\*(?!\d)|(?<!\w)\*{1,3}(?=\S)|(?<=\S)\*{1,3}(?!\w)
        |\\(?=[\\`*_{}\[\]\#+.!|$~-])|\n[ \t]*+>[>\s]*+|[ ]\#+$)
    | (?<!\w)(?P<open>_)(?=\S)[^_\n]++(?P<close>_)(?!\w)
    """,
    re.VERBOSE | re.IGNORECASE,
)
# One of these is in every match of it, and found many times as fast.
_SIGN = re.compile(r"[`\[<【(⁰¹²³⁴-⁹~*\\\n#_]")
# The numbers of items in a sentence: “1) Ana Lind, 2) Mia Sund”.
_INNER_NUMBER = re.compile(r"(?<=[\s:,;])\(?(?P<number>\d{1,2})\)\s+(?=\S)")
# What is masked before a space or a stop goes with the space before it.
_CLOSED = re.compile(rf" ?{_FILL}++(?=[\s.,;:!?。！？，；：]|$)")
_PLAIN_LABEL = re.compile(r"\^?\d{1,4}|sources?|refs?|links?|here", re.IGNORECASE)


class Scan(NamedTuple):
    """A sentence with its markup masked, and the citation markers in it."""

    masked: str
    marks: list[Mark]
    # Where the words begin: after bullets, heading marks and checkboxes.
    start: int
    is_heading: bool
    is_item: bool
    # Where the sentence begins in the answer.
    offset: int = 0
    # Where the numbers of items within the sentence stand, in the sentence.
    numbers: tuple[tuple[int, int], ...] = ()

    @property
    def plain(self) -> str:
        """The masked text with spaces for markup: what rules are applied to."""
        return self.masked.replace(_FILL, " ")

    def is_marked_up(self, place: int) -> bool:
        """Tell whether markup stood at a place: “**” where a sentence opens in bold."""
        return self.masked[place : place + 1] == _FILL

    @property
    def is_empty(self) -> bool:
        """Whether nothing is left but markup."""
        return _ONLY_MARKUP.fullmatch(self.masked) is not None


def scan_markup(text: str, offset: int) -> Scan:
    """Mask the markup of a sentence that begins at ``offset``, and read its citation markers.

    Inline code is kept as it stands, without its ticks; so “[0]” in code is no marker.
    """
    prefix = _PREFIX.match(text)
    start = prefix.end() if prefix else 0
    heading = prefix is not None and prefix.group("heading") is not None
    item = prefix is not None and prefix.group("item") is not None
    numbers = _find_inner_numbers(text, start, opens=item and text[:start].strip(" (>") == "1)")
    if not numbers and not _SIGN.search(text, start):
        return Scan(_FILL * start + text[start:], [], start, heading, item, offset)
    chars = list(text)
    chars[:start] = _FILL * start
    for left, right in numbers:
        chars[left:right] = _FILL * (right - left)
    marks: list[Mark] = []
    for match in _MARKUP.finditer(text, start):
        for left, right in _find_masked(match):
            chars[left:right] = _FILL * (right - left)
        marks += (
            Mark(
                text=match.group(), start=offset + match.start(), end=offset + match.end(), target=x
            )
            for x in _find_targets(match)
        )
    return Scan("".join(chars), marks, start, heading, item, offset, tuple(numbers))


def _find_inner_numbers(text: str, start: int, *, opens: bool) -> list[tuple[int, int]]:
    """Return the numbers of a sentence's items, if they count up from 1.

    They are no part of what is claimed: a source has no “2” there. Where the sentence ``opens``
    as the first item, the place where its words begin stands for its number.
    """
    found = list(_INNER_NUMBER.finditer(text, start)) if ")" in text else []
    first = 2 if opens else 1
    counted = [int(match["number"]) for match in found] == [*range(first, first + len(found))]
    if not counted or len(found) + opens < 2:
        return []
    return [(start, start)] * opens + [match.span() for match in found]


def begins_item(text: str) -> bool:
    """Tell whether a sentence begins with the bullet or the number of a list item."""
    prefix = _PREFIX.match(text)
    return prefix is not None and prefix.group("item") is not None


def strip_markup(masked: str) -> str:
    """Return a masked text without what was masked, single-spaced."""
    spaced = " ".join(masked.split())
    if _FILL not in spaced:
        return spaced
    return _CLOSED.sub("", spaced).replace(_FILL, "").strip()


def _find_masked(match: re.Match[str]) -> Iterator[tuple[int, int]]:
    """Yield what is markup in a match: all of it but inner code, labels and alternative texts."""
    kept = next((name for name in ("inner", "alt", "label") if match.group(name) is not None), None)
    if match.group("open"):
        yield match.span("open")
        yield match.span("close")
    elif kept and not (kept == "label" and _PLAIN_LABEL.fullmatch(match.group("label"))):
        yield match.start(), match.start(kept)
        yield match.end(kept), match.end()
    else:
        yield match.span()


def _find_targets(match: re.Match[str]) -> list[str]:
    """Return what a marker points at: several targets for “[1, 3]” and “[1-3]”, none for markup."""
    kind = match.lastgroup or ""
    text = match.group()
    if match.group("numbers"):
        return _read_numbers(text)
    if match.group("named"):
        return [text[1:-1].lstrip("^").strip()]
    if match.group("super"):
        return [text.translate(_SUPERSCRIPTS)]
    if match.group("year"):
        return [f"{match.group('author')}-{match.group('date')}".lower()]
    plain = {
        "link": "url", "auto": "auto", "dagger": "ref", "source": "title", "file": "path"
    }.get(kind)  # fmt: skip
    return [match.group(plain).strip()] if plain else []


def _read_numbers(text: str) -> list[str]:
    numbers: list[str] = []
    for part in re.split(r"[,;]", text[1:-1]):
        first, _, last = (bound.strip(" ^") for bound in re.sub("[–-]", "-", part).partition("-"))
        if last and 0 <= int(last) - int(first) < _LONGEST_RANGE:
            numbers += map(str, range(int(first), int(last) + 1))
        else:
            numbers += filter(None, (first, last))
    return numbers
