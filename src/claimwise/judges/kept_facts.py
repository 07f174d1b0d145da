"""Does a claim that a model writes keep the facts of the piece that it stands for?

A judge may not correct what it judges: “146 meters: true” says nothing about an answer that says
200. A claim must give the piece's numbers with their units, its dates and names, and deny what
the piece denies. Names, and numbers that are part of a name, may come from the rest of the answer
or the question, since a claim says what “it” means; an exchanged one may not.

What reads numbers, dates, names and denials is what reads them for every judge (``reading.py``),
after both texts were written in one way (``text/figures.py``). Where a wording differs and the
facts do not (passive voice, synonyms, “isn't”, “two” for 2, “impossible” for “not possible”),
nothing is found. Names are told by capital letters, so not in Chinese or Japanese, and in German
not at all; opposites and prefixes are English.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import combinations
from typing import NamedTuple

from claimwise.judges.amounts import Amount, same_figure
from claimwise.judges.binding import find_misbinding
from claimwise.judges.evidence import EvidenceIndex, weigh_part
from claimwise.judges.facts import MONTHS, Name, same_day
from claimwise.judges.lazy import lazy
from claimwise.judges.reading import TextFacts
from claimwise.text.figures import write_figures
from claimwise.text.words import find_stem, is_common, read_stems
from claimwise.types.rows import Source

CHANGED_FACT = "changed_fact"  # the code of a claim that changes a fact of its piece

_DIGITS = re.compile(r"[^\W_]*\d(?:[\w.,:/-]*\w)?")
_MONTH = re.compile(rf"\b(?:{'|'.join(m.title() for m in MONTHS if len(m) > 4 or m == 'june')})\b")
_ERA = re.compile(r"\bB\.?C\.?(?:E\.?)?(?!\w)")
_ERA_WORDS = frozenset(("bc", "bce", "ad", "ce"))
# What is measured in units that no reader knows: another one is another fact.
_MEASURES = frozenset(
    map(
        find_stem,
        "volt amp ampere joule calorie newton pascal bar acre hectare gallon pint quart barrel knot "
        "decibel lumen kelvin tablet capsule dose drop cup teaspoon tablespoon rupee peso franc "
        "ruble rouble krona crown won yuan lira rand cent penny pence league fathom carat mole "
        "parsec light-year stone hertz byte bit pixel storey story floor".split(),
    )
)
_TITLES = frozenset(
    map(
        find_stem,
        "mr mrs ms dr doctor prof professor sir dame lord lady president king queen saint st".split(),
    )
)
# A lone word that opens a sentence is a name unless its form shows a common noun or an adverb.
_COMMON_FORM = re.compile(
    r"(?:s|ing|ly|ed|tion|sion|ment|ness|ity|ance|ence|ism|ture|ship|hood|ward|fall)$"
)
_PEOPLE_FORMS = ("n", "an", "ian", "ean", "ese", "ish", "i", "ic")  # Italian, Chinese, Swedish
_PLACE_FORMS = ("", "a", "e", "y", "en", "ia", *_PEOPLE_FORMS)
_OPENER = re.compile(r"[\"'“(]*([A-Z][\w'’-]*)")
_WORD = re.compile(r"[^\W\d_]+")
_POSSESSIVE = re.compile(r"['’]s?$")
_INITIALS = re.compile(r"\b[A-Z]{2,6}\b")
_CAPITALS = re.compile(r"[A-Z]")
# Words that say “not” in their own way; with “to” they are denials, which are read as such.
_REFUSING = re.compile(
    r"\b(?:prohibit|forbid|forbad|bann(?:ed|ing)|bans?\b|lack(?!\w*lustre)|den(?:y|ie)|refus|fail|"
    r"prevent|reject|absen|exclud|rarely|seldom|hardly|scarcely|barely)\w*(?!\s+to\b)"
)
_ONLY = re.compile(r"\b(?:only|solely|exclusively|unique|sole)\b")
_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "non-")
_LEAST_BASE = 4  # letters that a prefix may stand before
_JOINED = re.compile(r"\s*(?:,|and|or|&|,\s*and)\s*")
# Relations that hold both ways, so that names may change places.
_MUTUAL = frozenset(
    map(
        find_stem,
        "marry married wife husband spouse border borders neighbour neighbor meet met equal same differ "
        "different share between near twin sibling cousin versus distance connect link join adjoin "
        "together mutual match resemble divorced friend partner merge merged apart and".split(),
    )
) - {"and"}
_ROLE_WORDS = frozenset(
    "by of in for from to with than over under after before at on into against about behind "
    "above below near between".split()
)
_NEAR = 1


class _Value(NamedTuple):
    """A number of a text, or an end of a range, with the word that it counts."""

    amount: Amount
    value: float
    noun: str | None
    hedge: str

    @property
    def text(self) -> str:
        return self.amount.text

    @property
    def is_one(self) -> bool:
        """Whether it is “one” or “first”, which often count nothing."""
        return self.value == 1 and self.amount.what in ("", "ordinal")


class FactsOfText:
    """What must be kept of one text, read as far as it is asked for."""

    def __init__(self, text: str, language: str | None = "unread") -> None:
        self.facts = TextFacts(write_figures(text))
        if language != "unread":
            # A claim is too short to tell its language: it is the piece's.
            self.facts.language = language

    @lazy
    def values(self) -> list[_Value]:
        """Its numbers; a range is its two ends."""
        return [
            value for amount in self.facts.amounts for value in _read_values(amount, self.facts)
        ]

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
        read = [*facts.amounts, *facts.days]
        return {
            found.group().lower(): found.group()
            for found in _DIGITS.finditer(facts.text)
            if not any(one.start < found.end() and found.start() < one.end for one in read)
        }

    @lazy
    def names(self) -> list[Name]:
        """Its names, with a lone word that opens it if that looks like one."""
        facts = self.facts
        if facts.language == "german":
            return []
        return [name for name in map(_trim_name, _list_names(facts)) if name is not None]

    @lazy
    def name_stems(self) -> frozenset[str]:
        """The content words of its names."""
        return frozenset(stem for name in self.names for stem in name.stems)


def _read_values(amount: Amount, facts: TextFacts) -> list[_Value]:
    noun = facts.counted_by(amount.end)
    if amount.given is None:
        ends = dict.fromkeys((amount.low, amount.high))
        return [_Value(amount, end, noun, "") for end in ends]
    after_from = facts.small[: amount.start].rstrip(" $€£¥").endswith("from")
    return [_Value(amount, amount.given.value, noun, "" if after_from else amount.hedge)]


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
    if name.start == 0 and words and _COMMON_FORM.search(words[0].lower()):
        stems = [s for s in stems if s != find_stem(words[0])]
    return Name(tuple(stems), name.text, name.start, name.end) if stems else None


class KeptFacts:
    """The facts of an answer's pieces, to hold the claims of a model against.

    Args:
        context: what a claim may take a name from: the answer and the question.
    """

    def __init__(self, context: str = "") -> None:
        self._context = context
        self._read: dict[str, FactsOfText] = {}

    @lazy
    def _around(self) -> FactsOfText:
        return FactsOfText(self._context)

    def _read_piece(self, text: str) -> FactsOfText:
        found = self._read.get(text)
        if found is None:
            found = self._read[text] = FactsOfText(text)
        return found

    def find_change(
        self, claim: str, piece: str, own: Sequence[str] = (), said: Sequence[str] = ()
    ) -> str | None:
        """Return in words what fact of its piece a claim changes, or None.

        Args:
            claim: what the model wrote.
            piece: the stretch of the answer that it stands for.
            own: the statements that our splitter finds in the piece, with pronouns resolved.
            said: all claims that the model wrote for the piece.
        """
        if _is_same_text(claim, piece) or any(_is_same_text(claim, one) for one in own):
            return None
        told = self._read_piece("\n".join(dict.fromkeys((piece, *own))) if own else piece)
        read = FactsOfText(claim, told.facts.language)
        parts = [self._read_piece(one) for one in own] if len(own) > 1 else []
        whole = self._read_piece(piece)
        return (
            self._find_other_number(read, told)
            or _find_other_date(read, told)
            or _find_other_code(read, told, self._context)
            or self._find_other_name(read, told, said or (claim,))
            or _find_reversal(read, _choose_reference(read, whole, parts))
            or _find_exchange(read, whole)
            or _find_mixture(read, parts)
            or _find_misplaced(claim, piece, read, told)
        )

    def find_lost(self, own: str, said: Iterable[str]) -> str | None:
        """Return a number, date or name of a statement that no claim about it gives, or None."""
        wanted = self._read_piece(own)
        if not (wanted.values or wanted.facts.days or wanted.names):
            return None
        given = [FactsOfText(text, wanted.facts.language) for text in said]
        for value in wanted.values:
            if not value.is_one and not any(_gives(each, value) for each in given):
                return f"no claim says {value.text}"
        for day in wanted.facts.days:
            if not any(
                same_day(other, day) for each in given for other in each.facts.days
            ) and not (day.year is not None and any(day.year in each.years for each in given)):
                return f"no claim says {day.text}"
        stems = frozenset().union(*(each.facts.stem_set for each in given))
        for name in wanted.names:
            if stems.isdisjoint(name.stems) and not any(_may_mean(name, e) for e in given):
                return f"no claim names {name.text}"
        return None

    # Numbers

    def _find_other_number(self, read: FactsOfText, told: FactsOfText) -> str | None:
        for value in read.values:
            same = [other for other in told.values if _has_value(value, other)]
            if any(_is_same_value(value, other, read, told) for other in same):
                continue
            if same:
                said, meant = _show(value, read), _show(same[0], told)
                return f"the judge's claim says “{said}”, the answer “{meant}”"
            if value.amount.what == "year" and int(value.value) in told.years:
                continue
            rivals = [other for other in told.values if not _gives(read, other)]
            if value.is_one and not rivals:
                continue
            if not rivals and self._is_in_a_name(value, read):
                continue
            return _describe_number(value, rivals)
        return None

    def _is_in_a_name(self, value: _Value, read: FactsOfText) -> bool:
        """Tell whether a number belongs to a name of the context: “Apollo 11”, “the 2019 report”."""
        if value.amount.what not in ("", "year", "ordinal"):
            return False
        around = self._around
        beside = _list_adjoining(value, read)
        return any(
            _has_value(value, other) and bool(beside & _list_adjoining(other, around))
            for other in around.values
        )

    # Names

    def _find_other_name(
        self, read: FactsOfText, told: FactsOfText, said: Sequence[str]
    ) -> str | None:
        known = told.facts.stem_set
        for name in read.names:
            strange = [stem for stem in name.stems if stem not in known]
            if not strange or _may_mean(name, told):
                continue
            if name.start == 0 and len(name.stems) == 1 and _is_form_of(name.text, told):
                continue
            gone = [own for own in told.names if not read.facts.stem_set.issuperset(own.stems)]
            lost = [own for own in gone if read.facts.stem_set.isdisjoint(own.stems)]
            if not self._is_from_context(name, strange):
                return _describe_name(name, lost or gone)
            rival = _find_rival_name(name, strange, read, told) or _find_dropped(lost, said)
            if rival is not None:
                return _describe_name(name, [rival])
        return None

    def _is_from_context(self, name: Name, strange: Sequence[str]) -> bool:
        around = self._around
        return all(s in around.facts.stem_set for s in strange) or _may_mean(name, around)


def _is_same_text(claim: str, piece: str) -> bool:
    return claim == piece or claim.rstrip(".").casefold() == piece.rstrip(".").casefold()


def _is_same_value(value: _Value, other: _Value, read: FactsOfText, told: FactsOfText) -> bool:
    """Tell whether two equal numbers count the same thing, with the same bound."""
    if value.hedge != other.hedge:
        return False
    mine, theirs = value.amount.what, other.amount.what
    if mine != theirs and "" in (mine, theirs) and {mine, theirs} - {"", "year", "ordinal"}:
        # One has no unit: what it counts must not be something else.
        bare, text = (value, told) if not mine else (other, read)
        return bare.noun is None or bare.noun in text.facts.stem_set
    nouns = {value.noun, other.noun}
    return len(nouns) == 1 or nouns.isdisjoint(_MEASURES) or None in nouns


def _has_value(value: _Value, other: _Value) -> bool:
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


def _gives(read: FactsOfText, value: _Value) -> bool:
    """Tell whether a text gives a number."""
    if value.amount.what == "year" and int(value.value) in read.years:
        return True
    return any(_has_value(other, value) for other in read.values)


def _list_adjoining(value: _Value, read: FactsOfText) -> frozenset[str]:
    """Return the words right before and right after a number, without any mark between."""
    text = read.facts.text
    before = re.search(r"([\w'’]+) $", text[: value.amount.start])
    after = re.match(r" ([\w'’]+)", text[value.amount.end :])
    words = [found[1] for found in (before, after) if found]
    return frozenset(stem for stem in map(find_stem, words) if not is_common(stem))


def _show(value: _Value, read: FactsOfText) -> str:
    """Return a number with the words around it: “more than 100 people”, “230 volts”."""
    text, amount = read.facts.text, value.amount
    before = text[: amount.start].split()[-2:] if value.hedge else []
    after = text[amount.end :].split()[:1]
    return " ".join([*before, value.text, *after]).rstrip(" .,;:")


def _describe_number(value: _Value, rivals: Sequence[_Value]) -> str:
    alike = [r for r in rivals if r.amount.what == value.amount.what] or list(rivals)
    if not alike:
        return f"the judge's claim says {value.text}, which the answer does not say here"
    return f"the judge's claim says {value.text}, the answer {alike[0].text}"


# Dates and codes


def _find_other_date(read: FactsOfText, told: FactsOfText) -> str | None:
    for day in read.facts.days:
        if not any(same_day(day, other) for other in told.facts.days):
            instead = told.facts.days[0].text if told.facts.days else "another date, or none"
            return f"the judge's claim says {day.text}, the answer {instead}"
    if not read.months <= told.months:
        return "the judge's claim names a month that the answer does not name here"
    if read.facts.has_digits and bool(_ERA.search(read.facts.text)) != bool(
        _ERA.search(told.facts.text)
    ):
        gives_year = any(value.amount.what in ("", "year") for value in read.values)
        if gives_year and _ERA.search(read.facts.text + told.facts.text):
            return _describe_era(read, told)
    return None


def _describe_era(read: FactsOfText, told: FactsOfText) -> str | None:
    """Say that only one side speaks of years before our era, if the same number is meant."""
    dated = told if _ERA.search(told.facts.text) else read
    other = read if dated is told else told
    for value in dated.values:
        tail = dated.facts.text[value.amount.end : value.amount.end + 8]
        if _ERA.search(tail) and _gives(other, value):
            return "the judge's claim and the answer put a year on different sides of year 1"
    return None


def _find_other_code(read: FactsOfText, told: FactsOfText, context: str) -> str | None:
    if not read.codes:
        return None
    known = told.facts.small
    for code, text in read.codes.items():
        if code not in told.codes and code not in known and code not in context.lower():
            return f"the judge's claim says {text}, which the answer does not say here"
    return None


# Names


def _may_mean(name: Name, told: FactsOfText) -> bool:
    """Tell whether a text has another form of a name: initials, a people for its country."""
    first = _bare_name(name)
    # Initials may be written as a common word: “US”, “WHO”.
    others = [*map(_bare_name, told.names), *_INITIALS.findall(told.facts.text)]
    if any(_are_initials(first, other) or _are_initials(other, first) for other in others):
        return True
    strange = [word for word in _WORD.findall(first.lower()) if word not in told.facts.small]
    words = _WORD.findall(told.facts.small)
    return all(any(_are_akin(one, other) for other in words) for one in strange)


def _bare_name(name: Name) -> str:
    """Return a name without its article, its stops and its possessive ending."""
    return _POSSESSIVE.sub("", name.text.removeprefix("The ").replace(".", ""))


def _are_initials(short: str, long: str) -> bool:
    capitals = "".join(word[0] for word in re.split(r"[\s-]+", long) if _CAPITALS.match(word))
    return short.isupper() and len(short) > 1 and capitals == short


def _are_akin(word: str, other: str) -> bool:
    """Tell a people from another word for the country: “chinese”, “china”."""
    shared = 0
    while shared < min(len(word), len(other)) and word[shared] == other[shared]:
        shared += 1
    if shared < 4:
        return False
    ends = word[shared:], other[shared:]
    return any(e in _PEOPLE_FORMS for e in ends) and all(e in _PLACE_FORMS for e in ends)


def _is_form_of(word: str, told: FactsOfText) -> bool:
    """Tell whether a word that opens a claim is made from one of the piece: “Rainfall”, “rain”."""
    low = word.lower()
    return any(
        len(stem) >= 4 and (low.startswith(stem) or stem.startswith(low))
        for stem in told.facts.stem_set
    )


def _find_rival_name(
    name: Name, strange: Sequence[str], read: FactsOfText, told: FactsOfText
) -> Name | None:
    """Return the piece's name that a name of the context was put in the place of.

    It shares a word with it (“Pierre Curie” for “Marie Curie”), or stands behind the same small
    word (“for Khafre” where the piece says “for Khufu”), and the claim has no more of it.
    """
    mine = read.facts.stem_set
    slot = _find_slot(name, read.facts)
    for other in told.names:
        gone = [stem for stem in other.stems if stem not in mine]
        if not gone:
            continue
        if len(strange) < len(name.stems) and not set(name.stems).isdisjoint(other.stems):
            return other
        if mine.isdisjoint(other.stems) and slot == _find_slot(other, told.facts):
            return other
    return None


def _find_slot(name: Name, facts: TextFacts) -> str:
    """Return the small word that a name stands behind; "" for a subject."""
    before = facts.small[: name.start].split("\n")[-1].split()
    if before and before[-1] in ("the", "a", "an"):
        before.pop()
    return before[-1] if before and before[-1] in _ROLE_WORDS else ""


def _find_dropped(lost: Sequence[Name], said: Sequence[str]) -> Name | None:
    """Return a name of the piece that no claim about it has."""
    if not lost:
        return None
    stems = frozenset().union(*(_read_stem_set(text) for text in said))
    return next((name for name in lost if stems.isdisjoint(name.stems)), None)


@lru_cache(maxsize=64)
def _read_stem_set(text: str) -> frozenset[str]:
    return TextFacts(text).stem_set


def _describe_name(name: Name, lost: Sequence[Name]) -> str:
    shown = name.text.removeprefix("The ")
    if not lost:
        return f"the judge's claim names {shown}, which the answer does not name here"
    return f"the judge's claim names {shown}, the answer {lost[0].text.removeprefix('The ')}"


def _find_exchange(read: FactsOfText, told: FactsOfText) -> str | None:
    """Say that two names changed places: “Bob hired Alice” for “Alice hired Bob”."""
    names = [n for n in told.names if not read.facts.stem_set.isdisjoint(n.stems)]
    if len(names) < 2 or not _MUTUAL.isdisjoint(told.facts.stem_set & read.facts.stem_set):
        return None
    for first, last in combinations(names, 2):
        mine = _find_name(first, read), _find_name(last, read)
        if mine[0] is None or mine[1] is None or mine[0] is mine[1]:
            continue
        if mine[0].start < mine[1].start or _are_joined(first, last, told, mine, read):
            continue
        slots = _find_slot(first, told.facts), _find_slot(last, told.facts)
        if (_find_slot(mine[1], read.facts), _find_slot(mine[0], read.facts)) == slots:
            return f"the judge's claim has {first.text} and {last.text} change places"
    return None


def _find_name(name: Name, read: FactsOfText) -> Name | None:
    return next((n for n in read.names if not set(n.stems).isdisjoint(name.stems)), None)


def _are_joined(
    first: Name,
    last: Name,
    told: FactsOfText,
    mine: tuple[Name | None, Name | None],
    read: FactsOfText,
) -> bool:
    """Tell whether two names are items of one list, whose order says nothing."""
    if _JOINED.fullmatch(told.facts.text[first.end : last.start]):
        return True
    one, other = mine
    between = read.facts.text[other.end : one.start] if one and other else ""
    return _JOINED.fullmatch(between) is not None


# Denials


def _choose_reference(
    read: FactsOfText, whole: FactsOfText, parts: Sequence[FactsOfText]
) -> FactsOfText:
    """Return the statement that a claim stands for: of several, the one with most of its words.

    The whole piece where the claim has words of it that no single statement has.
    """
    if not parts:
        return whole
    wanted = [stem for stem in read.facts.telling_stems]
    best = max(parts, key=lambda part: sum(s in part.facts.stem_set for s in wanted))
    beyond = [
        s
        for s in wanted
        if s not in best.facts.stem_set and any(s in p.facts.stem_set for p in parts)
    ]
    return whole if beyond else best


def _find_reversal(read: FactsOfText, told: FactsOfText) -> str | None:
    """Say that a claim denies what the piece says, or says what it denies.

    A denial may be said by another word: an opposite, a prefix, a verb such as “lack”. One of these
    makes up for a denial, and one without the other turns the claim.
    """
    mine, theirs = bool(read.facts.denials), _denies(told.facts, read.facts)
    if mine and theirs:
        return _find_added_denial(read.facts, told.facts)
    turned = _find_turned_word(read, told)
    if (mine != theirs) == (turned is not None):
        return None
    if mine != theirs and _says_only(read.facts, told.facts):
        return None
    if turned is not None:
        return _describe_turn(*turned)
    if mine:
        return "the judge's claim denies what the answer says"
    return "the judge's claim says what the answer denies"


def _describe_turn(said: str, meant: str) -> str:
    if not meant:
        return f"the judge's claim says “{said}”, which the answer does not"
    if not said:
        return f"the answer says “{meant}”, which the judge's claim does not"
    return f"the judge's claim says “{said}”, the answer “{meant}”"


def _denies(told: TextFacts, claim: TextFacts) -> bool:
    """Tell whether a piece denies what a claim is about.

    One that stands in another clause is about something else if the claim has words of the other
    clauses alone, and none of those that the denial stands before.
    """
    for start, _ in told.denials:
        low, high = told.clause_of(start)
        inside = {w.stem for w in told.telling if low <= w.start < high}
        denied = {w.stem for w in told.telling if start <= w.start < high}
        others = {w.stem for w in told.telling} - inside
        if not (denied - others).isdisjoint(claim.stem_set) or others.isdisjoint(claim.stem_set):
            return True
    return False


def _find_added_denial(read: TextFacts, told: TextFacts) -> str | None:
    if len(read.denials) <= len(told.denials):
        return None
    known = {word.stem for word in told.denied}
    for word in read.denied:
        if word.stem in told.stem_set and word.stem not in known:
            return "the judge's claim denies what the answer says"
    return None


def _find_turned_word(read: FactsOfText, told: FactsOfText) -> tuple[str, str] | None:
    """Return a word of the claim and the one of the piece that says the opposite.

    Of a verb such as “lack”, which only one of them has, the other's is "".
    """
    mine, theirs = read.facts, told.facts
    found = _find_opposite(mine, theirs)
    if found is not None:
        return None if _are_reversed(read, told) else found
    for one, other in ((mine, theirs), (theirs, mine)):
        pair = _find_prefixed(one, other)
        if pair is not None:
            return pair if one is mine else (pair[1], pair[0])
    refused = _REFUSING.search(mine.small), _REFUSING.search(theirs.small)
    if bool(refused[0]) == bool(refused[1]):
        return None
    said, meant = (found.group() if found else "" for found in refused)
    return said, meant


def _find_opposite(claim: TextFacts, told: TextFacts) -> tuple[str, str] | None:
    for place, rivals in claim.opposites:
        found = rivals & told.stem_set
        if found and claim.stems[place] not in told.stem_set and claim.stem_set.isdisjoint(found):
            return _show_word(claim, claim.stems[place]), _show_word(told, min(found))
    return None


def _show_word(facts: TextFacts, stem: str) -> str:
    """Return the word of a text that has a stem."""
    return next(facts.text[w.start : w.end] for w in facts.words if w.stem == stem)


def _find_prefixed(one: TextFacts, other: TextFacts) -> tuple[str, str] | None:
    """Return a word of one text that denies a word of the other by its form."""
    for stem in one.stem_set - other.stem_set:
        for prefix in _PREFIXES:
            base = stem.removeprefix(prefix)
            if base != stem and len(base) >= _LEAST_BASE and base in other.stem_set:
                if base not in one.stem_set:
                    return _show_word(one, stem), _show_word(other, base)
        base = find_stem(stem[:-4]) if stem.endswith("less") else ""
        if base in other.stem_set:
            return _show_word(one, stem), _show_word(other, base)
    return None


def _are_reversed(read: FactsOfText, told: FactsOfText) -> bool:
    """Tell whether a claim turns a comparison round: “B is smaller than A”."""
    names = [name for name in told.names if _find_name(name, read) is not None]
    for first, last in combinations(names, 2):
        mine = _find_name(first, read), _find_name(last, read)
        if mine[0] and mine[1] and mine[0].start > mine[1].start:
            return True
    order = [stem for stem in told.facts.telling_stems if stem in read.facts.stem_set]
    places = [read.facts.stems.index(stem) for stem in order]
    return len(places) > 1 and places[0] > places[-1]


def _says_only(mine: TextFacts, theirs: TextFacts) -> bool:
    """Tell whether “only” on one side makes up for the other's denial: “no other …”."""
    said, denied = (theirs, mine) if mine.denials else (mine, theirs)
    return _ONLY.search(said.small) is not None and _ONLY.search(denied.small) is None


# Facts of several statements


def _find_mixture(read: FactsOfText, parts: Sequence[FactsOfText]) -> str | None:
    """Say that a claim takes a value from another statement than the rest of it.

    “Sales were 7 million in 2019” for “5 million in 2019 and 7 million in 2020”: no statement has
    both, and the one that has more of it gives another value of that kind.
    """
    if len(parts) < 2 or not (read.values or read.facts.days):
        return None
    best: list[str] | None = None
    for part in parts:
        foreign = [v for v in read.values if not v.is_one and not _gives(part, v)]
        rivals = [v for v in part.values if not v.is_one and not _gives(read, v)]
        mixed = [
            f"{mine.text} and {other.text}"
            for mine in foreign
            for other in rivals
            if mine.amount.what == other.amount.what and mine.noun == other.noun
        ]
        if not foreign:
            return None
        if best is None or len(mixed) < len(best):
            best = mixed
    return f"the judge's claim exchanges {best[0]} of the answer" if best else None


def _find_misplaced(claim: str, piece: str, read: FactsOfText, told: FactsOfText) -> str | None:
    """Say that a claim gives a value of the piece to something else than the piece does."""
    kinds = [value.amount.what for value in told.values]
    repeated = any(kinds.count(kind) > 1 for kind in {v.amount.what for v in read.values})
    if not repeated or told.facts.language or all(_gives(read, v) for v in told.values):
        return None
    index = EvidenceIndex([Source(source_id="piece", corpus_ver="-", source_text=piece)])
    found = find_misbinding(weigh_part(claim, index), index)
    return None if found is None else found.words.replace("the source", "the answer")
