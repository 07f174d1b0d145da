"""A text with what can be compared in it, read only as far as it is asked for.

A claim and the sentences of its sources are read alike. What was read is kept with the text, so
that all claims about the same sources share it, and most sentences are hardly looked at.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

from claimwise.judges.amounts import Amount, read_amounts, read_years
from claimwise.judges.facts import Day, Facts, Quantity, count_negations, load_opposites
from claimwise.judges.lazy import lazy
from claimwise.text.languages import find_denials, find_language
from claimwise.text.words import (
    COMMON_STEMS,
    ENGLISH_ALONE,
    Word,
    find_stem,
    is_common,
    may_be_foreign,
    read_words,
)

# All of these are looked for in small letters.
_CLAUSE = re.compile(
    r"[,;:()…—]\s|\s[–-]\s|\b(?:but|and|although|though|because|since|while|whereas|which|who|that|if|"
    r"unless|so|when|or|than|except|unlike)\b"
)
_LETTERS = re.compile(r"[^\W\d_]+")
_PRONOUN = re.compile(r"(?:It|He|She|They|Its|His|Her|Their)\b")  # in letters as they are
_PERSON = re.compile(r"(?:He|She|His|Her)\b")
_BEFORE_PLACES = frozenset({"the", "in", "at", "from", "of"})  # and other things with names
_LAST_WORD = re.compile(r"(\w+)\W*$")
_HEDGES = frozenset(map(find_stem, ("nearly", "almost", "approximately", "roughly", "around")))
_SILENT = COMMON_STEMS | _HEDGES
# Denials, without those that deny nothing: "not only", "no more than", "not unusual".
_DENIAL = re.compile(
    r"\b(?:no longer|not|never|no|none|neither|nobody|nothing|without|cannot|"
    r"(?:fail(?:s|ed)?|refus(?:es|ed)|unable) to|\w+n['’]t)\b"
    r"(?!\s+(?:only|just|necessarily|(?:more|less|fewer|later|earlier) than|far|accounting|"
    r"including|least|doubt|alone|matter|but|to mention|un(?!der|til|less)\w+|insignificant|"
    r"infrequent|impossible|all|every\w*|always|enough)\b)"
)
# Words that say "not" in their own way: no denial is found beside them.
_NEGATIVE = re.compile(
    r"\b(?:un|non-?|in|im|dis)?(?:prohibit|forbid|forbad|bann?|against|lack|den[iy]|refus|fail|stop|"
    r"avoid|except|unlike|exclu|only|prevent|reject|oppos|absen|instead|rather|hardly|rarely|few)\w*"
)


class Term(NamedTuple):
    """A word that may say what a value belongs to."""

    stem: str
    text: str
    named: bool  # a part of a name


class TextFacts(Facts):
    """One text with its facts and its words, in the terms that can be compared."""

    before: TextFacts | None = None  # the sentence before it in its source

    @lazy
    def words(self) -> list[Word]:
        """Its words with their places; most texts never need them."""
        return read_words(self.text)

    @lazy
    def content(self) -> frozenset[str]:
        """The different stems that carry meaning, numbers included."""
        return self.stem_set - COMMON_STEMS

    @lazy
    def amounts(self) -> list[Amount]:
        """Its numbers, ranges and times."""
        return read_amounts(self)

    @lazy
    def years(self) -> list[Amount]:
        """The years of its dates."""
        return read_years(self)

    @lazy
    def telling(self) -> list[Word]:
        """Its words that carry meaning, without numbers and dates."""
        found = [w for w in self.words if w[0] not in _SILENT and not w[0][:1].isdigit()]
        return _leave_out(found, self.days) if self.days else found

    @lazy
    def telling_stems(self) -> list[str]:
        """The stems of its content words; without dates their places need not be known."""
        if self.days:
            return [word.stem for word in self.telling]
        return [s for s in self.stems if s not in _SILENT and not s[:1].isdigit()]

    @lazy
    def terms(self) -> list[tuple[int, int, Term]]:
        """Its content words and its years, with their places, in order."""
        named = {place for name in self.names for place in range(name.start, name.end)}
        text = self.text
        found = [
            (start, end, Term(stem, text[start:end], start in named))
            for stem, start, end in self.telling
        ]
        years = [amount for amount in (*self.amounts, *self.years) if amount.what == "year"]
        if years:
            found += ((y.start, y.end, Term(str(int(y.low)), y.text, False)) for y in years)
            found.sort()
        return found

    @lazy
    def opens_with_pronoun(self) -> bool:
        """Whether its subject stands in another sentence."""
        return _PRONOUN.match(self.text) is not None

    @lazy
    def antecedent(self) -> tuple[Term, ...]:
        """What the pronoun that opens it may stand for, in the sentence before.

        That is the one name there, for a person the one that opens it where all others are places
        or the like (“Ana Lind joined the Larks”), or, if there is none, any of the words; nothing
        where names compete.
        """
        before = self.before
        if before is None or not self.opens_with_pronoun:
            return ()
        if len(before.names) > 1 and not (self._means_person and before.opens_with_person):
            return ()
        if before.names:
            return tuple(Term(stem, stem.title(), named=True) for stem in before.names[0].stems)
        return tuple(
            Term(stem, before.text[start:end], named=False) for stem, start, end in before.telling
        )

    @lazy
    def _means_person(self) -> bool:
        return _PERSON.match(self.text) is not None

    @lazy
    def opens_with_person(self) -> bool:
        """Whether it opens with a name, and no other name in it may be a person's."""
        if not self.names or self.names[0].start != 0:
            return False
        before = (
            _LAST_WORD.search(self.text, max(0, name.start - 30), name.start)
            for name in self.names[1:]
        )
        return all(word is not None and word[1] in _BEFORE_PLACES for word in before)

    @lazy
    def context(self) -> frozenset[str]:
        """Its words, and those that its opening pronoun may stand for."""
        if not self.opens_with_pronoun or not self.antecedent:
            return self.stem_set
        return self.stem_set.union(term.stem for term in self.antecedent)

    @lazy
    def plain(self) -> list[str]:
        """The stems of its content words without units and the like: amounts may differ."""
        if not self.amounts:
            return self.telling_stems
        return [word.stem for word in _leave_out(self.telling, self.amounts)]

    @lazy
    def undated(self) -> frozenset[str]:
        """The stems that carry meaning, without those of its dates and years."""
        years = [quantity for quantity in self.quantities if quantity.what == "year"]
        kept = _leave_out(self.words, [*self.days, *years])
        return frozenset(word.stem for word in kept if not is_common(word.stem))

    @lazy
    def opposites(self) -> list[tuple[int, frozenset[str]]]:
        """Which of its words have an opposite, with the stems that say the opposite."""
        table = load_opposites()
        return [(place, table[stem]) for place, stem in enumerate(self.stems) if stem in table]

    @lazy
    def clauses(self) -> list[tuple[int, int]]:
        """Where its clauses begin and end."""
        cuts = [match.span() for match in _CLAUSE.finditer(self.small)]
        starts = [0, *(end for _, end in cuts)]
        return list(zip(starts, [*(start for start, _ in cuts), len(self.text)], strict=True))

    @lazy
    def denials(self) -> list[tuple[int, int]]:
        """Where it denies something."""
        if self.language:
            return find_denials(self.small, self.language)
        if not self.may_deny:
            return []
        return [match.span() for match in _DENIAL.finditer(self.small)]

    @lazy
    def language(self) -> str | None:
        """What language it is in, where that is not English."""
        small = self.small
        if not may_be_foreign(small):
            return None
        words = frozenset(_LETTERS.findall(small))
        return find_language(small, words, len(words & ENGLISH_ALONE))

    @lazy
    def negations(self) -> int:
        """How often it says "not" or the like, in its language."""
        if self.language:
            return len(self.denials)
        return count_negations(self.small) if self.may_deny else 0

    @lazy
    def denied(self) -> list[Word]:
        """The first content word after each denial in its clause; in Japanese the one before."""
        found: list[Word] = []
        for start, end in self.denials:
            if self.language == "japanese":
                found += self._list_before(start, 1)
                continue
            _, last = self.clause_of(start)
            found += [word for word in self._list_after(end, 1) if word.end <= last]
        return found

    @lazy
    def is_negative(self) -> bool:
        """Whether a word of it says "not" in its own way."""
        return _NEGATIVE.search(self.small) is not None

    def clause_of(self, place: int) -> tuple[int, int]:
        """Return the clause that holds a place."""
        at = bisect_right(self.clauses, place, key=itemgetter(0)) - 1
        start, end = self.clauses[at]
        return (start, end) if start <= place < end else (0, len(self.text))

    def around(self, start: int, end: int, *, near: int, clause: bool = False) -> set[str]:
        """Return the few content words on either side of a stretch, in its clause if asked."""
        low, high = self.clause_of(start) if clause else (0, len(self.text))
        before = {w.stem for w in self._list_before(start, near) if low <= w.start}
        return before | {w.stem for w in self._list_after(end, near) if w.end <= high}

    def beside(self, start: int, end: int) -> tuple[str | None, str | None]:
        """Return the content words right before and right after a stretch."""
        before, after = self._list_before(start, 1), self._list_after(end, 1)
        return (before[0].stem if before else None, after[0].stem if after else None)

    def counted_by(self, end: int) -> str | None:
        """Return the content word that follows a number at once: "rooms" in "12 rooms"."""
        after = self._list_after(end, 1)
        adjoins = after and not self.text[end : after[0].start].strip(" -")
        return after[0].stem if adjoins else None

    def _list_before(self, place: int, most: int) -> list[Word]:
        at = bisect_right(self.telling, place, key=attrgetter("end"))
        return self.telling[max(0, at - most) : at]

    def _list_after(self, place: int, most: int) -> list[Word]:
        at = bisect_left(self.telling, place, key=attrgetter("start"))
        return self.telling[at : at + most]


def _leave_out(words: Sequence[Word], facts: Sequence[Day | Quantity | Amount]) -> list[Word]:
    """Return the words that begin in none of some facts."""
    taken = {place for fact in facts for place in range(fact.start, fact.end)}
    return [word for word in words if word.start not in taken]


def tells(stem: str) -> bool:
    """Tell whether a word carries meaning; numbers and hedges are looked at otherwise."""
    return not (stem in _SILENT or stem[:1].isdigit())
