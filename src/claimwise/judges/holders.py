"""Values of a text with the words that they may belong to.

A number, date or name of a sentence stands between words of its own stretch; in a record it has an
owner and an attribute. ``binding.py`` compares them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import chain, pairwise
from operator import itemgetter

from claimwise.judges.amounts import Amount
from claimwise.judges.facts import Day, Name
from claimwise.judges.lazy import lazy
from claimwise.judges.reading import Term, TextFacts
from claimwise.judges.records import RecordCell
from claimwise.text.words import read_stems

_RESPECTIVELY = re.compile(r"\brespectively\b|\beach other\b")  # in small letters
_SMALL_WORD = re.compile(r"(\w+)\W*$")
_BEFORE_YEAR = frozenset(
    ("in", "since", "from", "until", "by", "of", "during", "after", "before", "to", "and", "the")
)
_AGE = re.compile(r", \d{1,3}[,.](?!\d)")
_OLD = re.compile(r"(?:[- ]{1,3}years?)?[- ]{1,3}old\b")
_BEFORE_NAME = re.compile(r"(\w+)(?:\s+(?:the|an?))?\W*$")
_AND = re.compile(r"\s+and\s+(?:the\s+)?", re.IGNORECASE)
_NEAR = 40  # characters between a value with a unit and one that leaves it out
_VERB_AND_HEDGE = 2  # content words of a clause that leaves out its subject: “gave only”
_GOES_ON = re.compile(r"[\s,;]*(?:and|but)\b")  # these two in small letters
_SUBJECT = re.compile(r"\b(?:the|an?|its?|their|his|her|our|my|they|he|she|we|i|who|which|that)\b")
_BRACKET = re.compile(r"\s*\(([^()]*)\)")

Value = Amount | Day | Name
Sides = tuple[tuple[Term, ...], tuple[Term, ...]]


class Holder:
    """A value of a claim or of a sentence of a source, with the words that it may belong to.

    ``kind`` is what it measures; of a name the word before it, or its attribute: what holds its
    place. Most values are never asked for their words, so these are looked for when they are.
    """

    is_record = False

    def __init__(self, value: Value, kind: str, sentence: _Sentence) -> None:
        self.value = value
        self.kind = kind
        self.position = sentence.position
        self._sentence = sentence

    @lazy
    def floats(self) -> bool:
        """Whether its subject is a pronoun that may stand for anything."""
        told = self._sentence.told
        return told.opens_with_pronoun and not told.antecedent

    @lazy
    def sides(self) -> Sides:
        """The words before and after it; in a record its owner and its attribute."""
        return self._sentence.cut(self.kind)[self.value.start]

    @lazy
    def noun(self) -> str | None:
        """What a bare number counts: “points” in “486 points”."""
        return None if self.kind else self._sentence.told.counted_by(self.value.end)

    @lazy
    def stems(self) -> frozenset[str]:
        """The words of both sides."""
        return frozenset(term.stem for side in self.sides for term in side)

    @lazy
    def context(self) -> frozenset[str]:
        """The words of its sentence, and those that its opening pronoun may stand for."""
        return self._sentence.told.context

    @lazy
    def has_name(self) -> bool:
        """Whether a name is among its words."""
        return any(term.named for side in self.sides for term in side)


class RecordHolder(Holder):
    """A value of a record, with its owner and its attribute."""

    is_record = True

    def __init__(self, value: Value, kind: str, sides: Sides, position: int) -> None:
        self.value = value
        self.kind = kind
        self.position = position
        self.sides = sides
        self.noun = None
        self.floats = False

    @lazy
    def context(self) -> frozenset[str]:
        """The words of its owner and its attribute."""
        return self.stems


class _Sentence:
    """A sentence that its values of one kind cut into stretches."""

    def __init__(self, told: TextFacts, position: int, groups: dict[str, list[Value]]) -> None:
        self.told = told
        self.position = position
        self._groups = groups
        self._cut: dict[str, dict[int, Sides]] = {}

    def cut(self, kind: str) -> dict[int, Sides]:
        """Return the words on either side of the values of a kind, by where these begin.

        Each value has its own clause and those before it that have no such value. What its
        opening pronoun may stand for comes first.
        """
        if kind not in self._cut:
            lead = self.told.antecedent
            self._cut[kind] = {
                value.start: ((*lead, *before), after)
                for value, before, after in _cut_sentence(self.told, kind, self._groups[kind])
            }
        return self._cut[kind]


def list_holders(told: TextFacts, position: int, *, names: bool = False) -> list[Holder]:
    """Return the numbers and dates of a sentence, or its names, with the words on either side.

    “Respectively” ties them in another way, which is not read.
    """
    groups = _group_names(told) if names else _group_numbers(told)
    if not groups or _RESPECTIVELY.search(told.small):
        return []
    sentence = _Sentence(told, position, groups)
    return [Holder(value, kind, sentence) for kind, values in groups.items() for value in values]


def _cut_sentence(
    told: TextFacts, kind: str, values: Sequence[Value]
) -> Iterator[tuple[Value, tuple[Term, ...], tuple[Term, ...]]]:
    """Yield values of one kind with the words before and after them."""
    start, before = 0, tuple[Term, ...]()
    for value, end in zip(values, _find_ends(told, values), strict=True):
        own = _cut(told.terms, start, value.start, kind)
        if start and own and _lacks_subject(told.small[start : value.start], own):
            own = (*_find_opening_name(told), *own)
        # Without words of its own before it, it has those of the value before (“… 5 for …”).
        before = own or before
        yield value, before, _cut(told.terms, value.end, end, kind)
        start = end


def _lacks_subject(small: str, terms: Sequence[Term]) -> bool:
    """Tell whether a clause goes on with a verb alone: “and gave 486”, “but gave only 5”."""
    few = len(terms) <= _VERB_AND_HEDGE and not any(term.named for term in terms)
    return few and _GOES_ON.match(small) is not None and _SUBJECT.search(small) is None


def _find_opening_name(told: TextFacts) -> tuple[Term, ...]:
    """Return the name that opens a sentence."""
    name = next((name for name in told.names if name.start == 0), None)
    if name is None:
        return ()
    return tuple(term for start, _, term in told.terms if start < name.end)


def _group_numbers(told: TextFacts) -> dict[str, list[Value]]:
    """Return the amounts and dates of a sentence by kind, in order.

    A bare number that counts nothing goes with the only other kind before it: “12 euros and 5”.
    """
    groups: dict[str, list[Value]] = {}
    found = [(_find_kind(told, amount), amount) for amount in told.amounts]
    kinds = {kind for kind, _ in found} - {"", "year", "ordinal", "age"}
    only = next(iter(kinds)) if len(kinds) == 1 else ""
    for kind, amount in sorted(found, key=lambda one: one[1].start):
        follows = not kind and only in groups and _follows(told, groups[only][-1], amount)
        groups.setdefault(only if follows else kind, []).append(amount)
    if told.days:
        groups["day"] = list(told.days)
    return groups


def _follows(told: TextFacts, first: Value, bare: Amount) -> bool:
    """Tell whether a number leaves out the unit of one shortly before it; scores (“2-1”) don't."""
    near = bare.start - first.end <= _NEAR
    alone = told.counted_by(bare.end) is None and told.text[bare.end : bare.end + 1] not in (
        "-",
        "–",
    )
    return near and alone


def _group_names(told: TextFacts) -> dict[str, list[Value]]:
    """Return the names of a sentence by what stands before them, which holds their place."""
    groups: dict[str, list[Value]] = {}
    for name in chain.from_iterable(map(_split_name, told.names)):
        match = _BEFORE_NAME.search(told.small, max(0, name.start - 30), name.start)
        if match:  # what opens a sentence may be anything
            groups.setdefault(f"name after {match[1]}", []).append(name)
    return groups


def _split_name(name: Name) -> Iterator[Name]:
    """Yield the names that “and” joins: “Petra Novak and Abbey Bridge” are two."""
    at = 0
    for text in _AND.split(name.text):
        at = name.text.index(text, at)
        stems = tuple(stem for stem in read_stems(text) if stem in name.stems)
        if stems:
            yield Name(stems, text, name.start + at, name.start + at + len(text))


def _find_kind(told: TextFacts, amount: Amount) -> str:
    """Return what an amount measures: “1930 points” is no year, “in 1930” and “1930” are.

    A number between commas is an age (“her mother, 38, …”), as is that of “31-year-old”.
    """
    if not amount.what and _AGE.match(told.text, max(0, amount.start - 2)):
        return "age"
    if _OLD.match(told.small, amount.end):
        return "age"
    if amount.what != "year" or told.counted_by(amount.end) is None:
        return amount.what
    before = _SMALL_WORD.search(told.small, max(0, amount.start - 30), amount.start)
    return "year" if before and before[1] in _BEFORE_YEAR else ""


def _find_ends(told: TextFacts, values: Sequence[Value]) -> list[int]:
    """Return where the stretch of each value ends: with its clause, the last with the sentence.

    Two in one clause (“5% in 2019 to 7% in 2020”): if words follow the last, what stands between
    follows the first; else it leads to the second.
    """
    ends: list[int] = []
    trails = bool(told.telling) and told.telling[-1].start >= values[-1].end
    for value, follower in pairwise(values):
        bracket = _BRACKET.match(told.text, value.end)
        end = bracket.end() if bracket else told.clause_of(value.start)[1]
        end = max(end, value.end)
        if end > follower.start:
            end = follower.start if trails else value.end
        ends.append(end)
    return [*ends, len(told.text)]


def _cut(
    terms: Sequence[tuple[int, int, Term]], start: int, end: int, kind: str
) -> tuple[Term, ...]:
    """Return the words of a stretch; years tell what other values belong to, not other years."""
    years = kind not in ("year", "day")
    first = bisect_left(terms, start, key=itemgetter(0))
    after = bisect_left(terms, end, first, key=itemgetter(0))
    return tuple(
        term
        for _, last, term in terms[first:after]
        if last <= end and (years or not term.stem.isdigit())
    )


def hold_cell(
    cell: RecordCell, position: int, known: dict[str, tuple[Term, ...]]
) -> Iterator[RecordHolder]:
    """Yield the values of a cell: its numbers and dates, or the whole where it has none.

    Words beside a number in the cell (“5 points, 3 assists”) are a part of its attribute. Terms
    of owners and attributes that were read before are ``known``.
    """
    told = TextFacts(cell.text)
    for text in (cell.owner, cell.attribute):
        if text not in known:
            known[text] = _read_terms(text)
    owner, attribute = known[cell.owner], known[cell.attribute]
    found = list_holders(told, position)
    for held in found:
        kind = "" if held.kind in ("year", "age") else held.kind
        sides = (owner, (*attribute, *held.sides[0], *held.sides[1]))
        yield RecordHolder(held.value, kind, sides, position)
    if not found and told.telling and not cell.is_prose:
        stems = tuple(word.stem for word in told.telling)
        name = Name(stems, cell.text, 0, len(cell.text))
        kind = f"name of {cell.attribute}"
        yield RecordHolder(name, kind, (owner, attribute), position)


def _read_terms(text: str) -> tuple[Term, ...]:
    """Return the words and years of an owner or attribute; capitalised ones are names."""
    told = TextFacts(text)
    words = ((word.stem, text[word.start : word.end]) for word in told.telling)
    years = ((str(int(a.low)), a.text) for a in told.amounts if a.what == "year")
    return tuple(Term(stem, word, word[:1].isupper()) for stem, word in (*words, *years))
