"""What stands above a sentence: headings, the items of outer lists, the line before a list.

A value that only has a name (“Assists: 486”) is true of somebody in any table. Below an item or a
heading it takes over what that names, with the place of every ancestor whose words it took.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from claimwise.decompose import words as w
from claimwise.decompose.clauses import find_finite, read_tokens
from claimwise.types.verdicts import Ancestor

_GENERAL = re.compile(
    r"(?:the )?(?:(?:summary|overview|introduction|conclusion|answer|details?|background|notes?|"
    r"results?|pros|cons|advantages|disadvantages|benefits|drawbacks|strengths|weaknesses|history|"
    r"(?:key|main|important|quick|basic) \w+|examples?|definitions?|explanation|steps?|facts|"
    r"figures|comparison|features|specifications|specs|properties|statistics|information|profile|"
    r"description|timeline|visiting|outlook|findings|recommendations)(?: (?:and|&) )?)+",
    re.IGNORECASE,
)
_OPEN_LEAD = re.compile(r"\b(?:here|below|following|as follows|these (?:are|steps))\b", re.I)
# What a line says of the list below it, and not of what is listed.
_ANNOUNCES = re.compile(
    r"^(?:(?:sure|certainly|okay|of course)[,!.] )?(?:here(?:'s|’s| is| are)|below (?:is|are)|"
    r"the following (?:is|are)|these are)\b(?: (?:an? )?(?:(?:short |quick |brief )?list|overview|"
    r"summary|comparison) of)?\s*|\bthe following\b\s*|(?: (?:are|is))? as follows$|\s+below$",
    re.IGNORECASE,
)
_NAMED_VALUE = re.compile(r"(?P<label>[^:：\n]{1,60}?)\s*[:：]\s+(?P<value>\S.{0,120})", re.DOTALL)
_ASIDE = re.compile(r"\s+\(([^()]{1,60})\)$")
_COMPLETABLE = w.PREPOSITIONS - {"as", "than", "like", "below", "above"} | w.WORDS["completable"]
_DATED = {
    name[:length]
    for name in (
        "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday", "january",
        "february", "march", "april", "may", "june", "july", "august", "september", "october",
        "november", "december",
    )
    for length in (3, len(name))
}  # fmt: skip
_LEAD_LEVEL = 9  # below every heading
BOLD_LEVEL = 7
_LONGEST_GENERAL = 60  # characters of a heading that may name nothing
_LONGEST_BARE = 8  # words of an item that is no sentence


class Named(NamedTuple):
    """What something above is called, alone and with all that stands above it, and its place."""

    short: str
    full: str
    ancestors: tuple[Ancestor, ...]


class Lead(NamedTuple):
    """A line that the items below it complete: its words, and whether a colon goes between."""

    words: str
    joint: str
    ancestors: tuple[Ancestor, ...]


class Outline:
    """The headings and items that the sentence at hand stands under."""

    def __init__(self) -> None:
        self._headings: list[tuple[int, Named | None]] = []
        self._items: list[tuple[int, Named]] = []
        self.lead: Lead | None = None

    @property
    def heading(self) -> Named | None:
        """The innermost heading that names something, with those above it."""
        return next((named for _, named in reversed(self._headings) if named), None)

    def enter_heading(self, level: int, wording: str, place: Ancestor) -> None:
        """Begin what stands under a heading; those of the same level, and below, end."""
        self.leave_list()
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, _make_named(self.heading, wording, place)))

    def enter_item(self, indent: int, wording: str, place: Ancestor) -> None:
        """Begin what stands under an item that only names something."""
        named = _make_named(self.item, wording, place)
        self._items.append((indent, named or Named(wording, wording, (place,))))

    def enter_lead(self, wording: str, place: Ancestor) -> None:
        """Begin a list by its line before: it names what the items are, or begins a sentence."""
        self.lead = _read_lead(wording, place)
        while self._headings and self._headings[-1][0] >= _LEAD_LEVEL:
            self._headings.pop()
        words = wording.rstrip(":： ")
        if find_finite(read_tokens(words)) is None and not completes(words):
            name = _ANNOUNCES.sub("", wording)
            self._headings.append((_LEAD_LEVEL, _make_named(self.heading, name, place)))

    @property
    def item(self) -> Named | None:
        """The innermost item that names what the items below it are about."""
        return self._items[-1][1] if self._items else None

    def is_parent(self, indent: int) -> bool:
        """Tell whether the item of that indent that was entered last only names something."""
        return bool(self._items) and self._items[-1][0] == indent

    def find_parent(self, indent: int) -> Named | None:
        """Return what an item of that indent stands under: an item further out, or the heading."""
        while self._items and self._items[-1][0] >= indent:
            self._items.pop()
        return self.item or self.heading

    def leave_list(self) -> None:
        """Forget the items: a paragraph stands under the heading alone."""
        self._items.clear()
        self.lead = None
        if self._headings and self._headings[-1][0] >= _LEAD_LEVEL:
            self._headings.pop()


def _make_named(above: Named | None, wording: str, place: Ancestor) -> Named | None:
    """Return a heading or item as a name (“Ana Lind, Harbour Larks”); None if it is general."""
    plain = w.ASPECT.sub("", wording.strip(" :：.*"))
    if not plain or _is_general(plain) or plain.endswith("?"):
        return None
    short, full = _ASIDE.sub("", plain), _ASIDE.sub(r", \1", plain)
    if above is None:
        return Named(short, full, (place,))
    return Named(short, f"{above.full}, {full}", (*above.ancestors, place))


def _is_general(name: str) -> bool:
    """Tell whether a heading names nothing: “Key facts”, “Pros and cons”."""
    return len(name) < _LONGEST_GENERAL and _GENERAL.fullmatch(name) is not None


def _read_lead(wording: str, place: Ancestor) -> Lead | None:
    words = wording.rstrip(":： ")
    tokens = read_tokens(words)
    plain = " ".join(_ANNOUNCES.sub(" ", words).split())
    last = read_tokens(plain)[-1:]
    if not tokens or not last:
        return None
    completes = last[0].low in _COMPLETABLE
    is_name = find_finite(tokens) is None and not _is_general(plain)
    instructs = tokens[0].low == "to" or tokens[0].low == "how"
    if not completes and (instructs or not (is_name or find_finite(tokens))):
        return None
    return Lead(plain[0].upper() + plain[1:], " " if completes else ": ", (place,))


def is_open(wording: str) -> bool:
    """Tell whether a line before a list only announces it: “Here are …:”, “… as follows:”."""
    return _OPEN_LEAD.search(wording) is not None


def completes(wording: str) -> bool:
    """Tell whether a line before a list is the beginning of a sentence: “We accept:”."""
    tokens = read_tokens(wording.rstrip(":： "))
    return bool(tokens) and tokens[-1].low in _COMPLETABLE


def complete_lead(lead: Lead, item: str) -> str | None:
    """Return a lead-in with one item; None when the item is a sentence or an instruction itself."""
    tokens = read_tokens(item)
    if not tokens or find_finite(tokens):
        return None
    if lead.joint != " " and (tokens[0].low in w.BASES or _NAMED_VALUE.fullmatch(item)):
        return None
    instruction = tokens[0].low in w.BASES and lead.words.split()[-1].lower() in w.BE
    return None if instruction else f"{lead.words}{lead.joint}{item}"


def name_value(parent: str, item: str) -> str | None:
    """Return a value without a verb with what it belongs to, or None.

    “Total Points: 1930” below “Ana Lind” is “Ana Lind: total points 1930”.
    """
    match = _NAMED_VALUE.fullmatch(item)
    if match is None or find_finite(read_tokens(item)) is not None:
        return None
    label = match["label"]
    if len(label.split()) > 6 or find_finite(read_tokens(match["value"])) is not None:
        return None
    return f"{parent}: {lower_label(label)} {match['value']}"


def name_bare(parent: str, item: str) -> str | None:
    """Return a bare item (“2 eggs”) with what it stands under; None for sentences and steps."""
    tokens = read_tokens(item)
    if not tokens or len(item.split()) > _LONGEST_BARE or item.endswith((".", "!", "?", "。")):
        return None
    is_step = tokens[0].low in w.BASES
    return None if is_step or ":" in item or find_finite(tokens) else f"{parent}: {item}"


def lower_label(label: str) -> str:
    """Return a label as it stands inside of a sentence: names, days and abbreviations stay."""
    if label.split()[0].rstrip(".").lower() in _DATED:
        return label
    known = label[1:2].islower() and not any(word[:1].isupper() for word in label.split()[1:])
    return label[0].lower() + label[1:] if known else label.lower() if label.istitle() else label
