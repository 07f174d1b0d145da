"""Values of a text with the words that they may belong to.

A number, date or name of a sentence stands between words of its own stretch; in a record it has an
owner and an attribute. ``binding.py`` compares them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from claimwise.judges.amounts import Amount
from claimwise.judges.facts import Day, Name
from claimwise.judges.link import SourceSentence
from claimwise.judges.reading import TextFacts
from claimwise.judges.records import Cell
from claimwise.judges.words import read_stems

_PRONOUN = re.compile(r"(?:It|He|She|They|Its|His|Her|Their)\b")
_RESPECTIVELY = re.compile(r"\brespectively\b|\beach other\b", re.IGNORECASE)
_SMALL_WORD = re.compile(r"(\w+)\W*$")
_BEFORE_YEAR = frozenset(
    ("in", "since", "from", "until", "by", "of", "during", "after", "before", "to", "and", "the")
)
_AGE = re.compile(r", \d{1,3}[,.](?!\d)")
_OLD = re.compile(r"(?:[- ]{1,3}years?)?[- ]{1,3}old\b")
_BEFORE_NAME = re.compile(r"(\w+)(?:\s+(?:the|an?))?\W*$")
_NEAR = 40  # characters between a value with a unit and one that leaves it out
_BRACKET = re.compile(r"\s*\(([^()]*)\)")

Value = Amount | Day | Name


class Term(NamedTuple):
    """A word that may say what a value belongs to."""

    stem: str
    text: str
    named: bool  # a part of a name


class Holder(NamedTuple):
    """A value of a source or a claim, with the words on its two sides.

    In a sentence these are the words before and after it, in a record its owner and its attribute.
    ``kind`` is what it measures; of a name the word before it, or its attribute: what holds its
    place.
    """

    value: Value
    sides: tuple[tuple[Term, ...], tuple[Term, ...]]
    position: int
    kind: str = ""
    noun: str | None = None  # what a bare number counts: “points” in “486 points”
    is_record: bool = False
    floats: bool = False  # its subject is a pronoun that may stand for anything


def list_holders(told: TextFacts, position: int, *, names: bool = False) -> Iterator[Holder]:
    """Yield the numbers and dates of a sentence, or its names, with the words on either side.

    Values of one kind cut the sentence into stretches: each has its own clause and those before
    it that have no such value. “Respectively” ties them in another way, which is not read.
    """
    groups = _group_names(told) if names else _group_numbers(told)
    if not groups or _RESPECTIVELY.search(told.text):
        return
    terms = _list_terms(told)
    for kind, values in groups.items():
        ends = _find_ends(told, values)
        start, before = 0, tuple[Term, ...]()
        for value, end in zip(values, ends, strict=True):
            # Without words of its own before it, it has those of the value before (“… 5 for …”).
            before = _cut(terms, start, value.start, kind) or before
            after = _cut(terms, value.end, end, kind)
            noun = told.counted_by(value.end) if not kind else None
            yield Holder(value, (before, after), position, kind, noun)
            start = end


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
    for text in re.split(r"\s+and\s+(?:the\s+)?", name.text, flags=re.IGNORECASE):
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
    for value, follower in zip(values, [*values[1:], None], strict=True):
        if follower is None:
            ends.append(len(told.text))
            continue
        bracket = _BRACKET.match(told.text, value.end)
        end = bracket.end() if bracket else told.clause_of(value.start)[1]
        end = max(end, value.end)
        if end > follower.start:
            trails = any(word.start >= values[-1].end for word in told.telling)
            end = follower.start if trails else value.end
        ends.append(end)
    return ends


def _list_terms(told: TextFacts) -> list[tuple[int, int, Term]]:
    """Return the content words and the years of a sentence, with their places, in order."""
    named = {place for name in told.names for place in range(name.start, name.end)}
    found = [
        (
            word.start,
            word.end,
            Term(word.stem, told.text[word.start : word.end], word.start in named),
        )
        for word in told.telling
    ]
    years = [amount for amount in (*told.amounts, *told.years) if amount.what == "year"]
    found += ((a.start, a.end, Term(str(int(a.low)), a.text, named=False)) for a in years)
    return sorted(found)


def _cut(
    terms: Sequence[tuple[int, int, Term]], start: int, end: int, kind: str
) -> tuple[Term, ...]:
    """Return the words of a stretch; years tell what other values belong to, not other years."""
    years = kind not in ("year", "day")
    return tuple(
        term
        for first, last, term in terms
        if start <= first and last <= end and (years or not term.stem.isdigit())
    )


def hold_values(
    told: SourceSentence, position: int, before: SourceSentence | None, *, names: bool = False
) -> list[Holder]:
    """Return the values of a sentence or record of a source, with what they belong to.

    They are its numbers and dates, or its names. A sentence that opens with a pronoun takes over
    what it may stand for.
    """
    if told.record is not None:
        held = (one for cell in told.record.cells for one in _hold_cell(cell, position))
        return [one for one in held if isinstance(one.value, Name) == names]
    holders = list(list_holders(told, position, names=names))
    if not holders or not _PRONOUN.match(told.text):
        return holders
    terms = find_antecedent(told, before)
    if not terms:
        return [holder._replace(floats=True) for holder in holders]
    return [
        holder._replace(sides=((*terms, *holder.sides[0]), holder.sides[1])) for holder in holders
    ]


def find_antecedent(told: SourceSentence, before: SourceSentence | None) -> tuple[Term, ...]:
    """Return what the pronoun that opens a sentence may stand for, in the sentence before.

    That is its one name, or, if it has none, any of its words; nothing where names compete.
    """
    if before is None or not _PRONOUN.match(told.text) or len(before.names) > 1:
        return ()
    if before.names:
        return tuple(Term(stem, stem.title(), named=True) for stem in before.names[0].stems)
    return tuple(
        Term(word.stem, before.text[word.start : word.end], False) for word in before.telling
    )


def _hold_cell(cell: Cell, position: int) -> Iterator[Holder]:
    """Yield the values of a cell: its numbers and dates, or the whole where it has none.

    Words beside a number in the cell (“5 points, 3 assists”) are a part of its attribute.
    """
    told = TextFacts(cell.text)
    owner, attribute = _read_terms(cell.owner), _read_terms(cell.attribute)
    found = list(list_holders(told, position))
    for held in found:
        kind = "" if held.kind in ("year", "age") else held.kind
        sides = (owner, (*attribute, *held.sides[0], *held.sides[1]))
        yield Holder(held.value, sides, position, kind, is_record=True)
    if not found and told.telling and not cell.is_prose:
        stems = tuple(word.stem for word in told.telling)
        name = Name(stems, cell.text, 0, len(cell.text))
        kind = f"name of {cell.attribute}"
        yield Holder(name, (owner, attribute), position, kind, is_record=True)


def _read_terms(text: str) -> tuple[Term, ...]:
    told = TextFacts(text)
    words = ((word.stem, text[word.start : word.end]) for word in told.telling)
    years = ((str(int(a.low)), a.text) for a in told.amounts if a.what == "year")
    return tuple(Term(stem, word, word[:1].isupper()) for stem, word in (*words, *years))
