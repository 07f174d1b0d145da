"""What exactly differs between a claim and a sentence of the sources, in words.

These findings turn a probability into a verdict with a reason: which number, date, name or denial
speaks against the claim, and which of its words no sentence covers. A wrong finding is worse than
a missed one, so each kind asks that the words around the difference agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from dataclasses import replace
from functools import cached_property
from typing import NamedTuple
from weakref import WeakKeyDictionary

from claimwise.verify.amounts import Amount, agree, comparable, entails, read_amounts, read_years
from claimwise.verify.evidence import EvidenceIndex, Part
from claimwise.verify.facts import Day, Facts, Name, find_facts, opposites_of, same_day
from claimwise.verify.words import Word, find_stem, is_common, read_words

_ALIKE = 0.5  # share of the claim's words that a sentence must hold to speak about the same thing
_MOSTLY = 0.75  # ... where the difference is a single word: a denial, an opposite, a name
_NEAR = 3  # words on either side of a number that tell what it counts
_NEAR_DATE = 5  # ... of a date: it may stand at either end of a sentence
_CLAUSE = re.compile(
    r"[,;:()…—]\s|\s[–-]\s|\b(?:but|and|although|though|because|since|while|whereas|which|who|that|if|"
    r"unless|so|when|or|than|except|unlike)\b",
    re.IGNORECASE,
)
_HEDGES = frozenset(map(find_stem, ("nearly", "almost", "approximately", "roughly", "around")))
# Denials, without those that deny nothing: "not only", "no more than", "not unusual".
_DENIAL = re.compile(
    r"\b(?:no longer|not|never|no|none|neither|nobody|nothing|without|cannot|"
    r"(?:fail(?:s|ed)?|refus(?:es|ed)|unable) to|\w+n['’]t)\b"
    r"(?!\s+(?:only|just|necessarily|(?:more|less|fewer|later|earlier) than|far|accounting|"
    r"including|least|doubt|alone|matter|but|to mention|un(?!der|til|less)\w+|insignificant|"
    r"infrequent|impossible|all|every\w*|always|enough)\b)",
    re.IGNORECASE,
)
_BEYOND = re.compile(
    r"\b(?:after|over|above|beyond|past|(?:more|later|longer) than)\b", re.IGNORECASE
)
_WITHIN = re.compile(
    r"\b(?:within|before|until|under|below|up to|(?:less|fewer|earlier) than)\b", re.IGNORECASE
)
# Words that say "not" in their own way: no denial is found beside them.
_NEGATIVE = re.compile(
    r"\b(?:un|non-?|in|im|dis)?(?:prohibit|forbid|forbad|bann?|against|lack|den[iy]|refus|fail|stop|"
    r"avoid|except|unlike|exclu|only|prevent|reject|oppos|absen|instead|rather|hardly|rarely|few)\w*",
    re.IGNORECASE,
)


class Difference(NamedTuple):
    """One thing that a sentence says otherwise: its place, and how to tell a reader."""

    position: int
    kind: str
    words: str


class Reading:
    """A text with what can be compared in it; read only as far as it is asked for."""

    def __init__(
        self, text: str, words: Sequence[Word], facts: Facts, stems: frozenset[str]
    ) -> None:
        self.text = text
        self.words = words
        self.facts = facts
        self.stems = stems

    @cached_property
    def amounts(self) -> list[Amount]:
        """Its numbers, ranges and times."""
        return read_amounts(self.text, self.facts)

    @cached_property
    def years(self) -> list[Amount]:
        """The years of its dates."""
        return read_years(self.facts)

    @cached_property
    def telling(self) -> list[Word]:
        """Its words that carry meaning, without numbers and dates."""
        found = [word for word in self.words if _tells(word)]
        for day in self.facts.days:
            found = [word for word in found if not day.start <= word.start < day.end]
        return found

    @cached_property
    def clauses(self) -> list[tuple[int, int]]:
        """Where its clauses begin and end."""
        cuts = [match.span() for match in _CLAUSE.finditer(self.text)]
        starts = [0, *(end for _, end in cuts)]
        return list(zip(starts, [*(start for start, _ in cuts), len(self.text)], strict=True))

    def clause_of(self, place: int) -> tuple[int, int]:
        """Return the clause that holds a place."""
        return next((c for c in self.clauses if c[0] <= place < c[1]), (0, len(self.text)))

    def around(self, start: int, end: int, *, near: int, clause: bool = False) -> set[str]:
        """Return the few telling words on either side of a stretch, in its clause if asked."""
        low, high = self.clause_of(start) if clause else (0, len(self.text))
        before = [w.stem for w in self.telling if low <= w.start and w.end <= start]
        after = [w.stem for w in self.telling if end <= w.start and w.end <= high]
        return {*before[-near:], *after[:near]}

    def beside(self, start: int, end: int) -> tuple[str | None, str | None]:
        """Return the telling words right before and right after a stretch."""
        before = [w.stem for w in self.telling if w.end <= start]
        after = [w.stem for w in self.telling if w.start >= end]
        return (before[-1] if before else None, after[0] if after else None)

    def counted_by(self, end: int) -> str | None:
        """Return the telling word that follows a number at once: "rooms" in "12 rooms"."""
        after = next((w for w in self.telling if w.start >= end), None)
        adjoins = after is not None and not self.text[end : after.start].strip(" -")
        return after.stem if after is not None and adjoins else None


def _tells(word: Word) -> bool:
    """Tell whether a word carries meaning; numbers and hedges are looked at otherwise."""
    stem = word.stem
    return not (is_common(stem) or stem[:1].isdigit() or stem in _HEDGES)


def list_telling(words: Sequence[Word]) -> list[str]:
    """Return the stems of the words and numbers that carry meaning."""
    return [word.stem for word in words if word.stem[:1].isdigit() or _tells(word)]


def find_differences(part: Part, index: EvidenceIndex, among: Sequence[int]) -> list[Difference]:
    """Return how sentences that speak about the same thing differ from the claim.

    A number or date differs when the sentence gives one of the same kind in the same
    surroundings and no looked-at sentence of its source gives the claimed one; a denial when the
    same clause is denied on one side alone; a word when its opposite stands in its place; a name
    when the sources never mention it and have another one there.
    """
    claim = _read_claim(part)
    plain = _plain_stems(claim)
    found: list[Difference] = []
    for position in among:
        sentence = index.sentences[position]
        if _share(plain, sentence.stem_set) < _ALIKE:
            continue
        given: list[Reading] = []
        if claim.amounts or claim.facts.days:
            looked_at = dict.fromkeys((*part.digest, *among))
            near = [p for p in looked_at if index.sentences[p].source == sentence.source]
            given = [_read_sentence(index, p) for p in near]
        found += (
            Difference(position, kind, words)
            for kind, words in _compare(claim, _read_sentence(index, position), given, index)
        )
    return found


def _read_claim(part: Part) -> Reading:
    stems = frozenset(word.stem for word in part.words)
    return Reading(part.text, part.words, find_facts(part.text), stems)


def _read_sentence(index: EvidenceIndex, position: int) -> Reading:
    """Return a sentence's reading; claims about the same sources share it."""
    readings = _READINGS.setdefault(index, {})
    if position not in readings:
        sentence = index.sentences[position]
        readings[position] = Reading(
            sentence.text, sentence.words, index.facts_of(position), sentence.stem_set
        )
    return readings[position]


_READINGS: WeakKeyDictionary[EvidenceIndex, dict[int, Reading]] = WeakKeyDictionary()


def _compare(
    claim: Reading, told: Reading, given: Sequence[Reading], index: EvidenceIndex
) -> Iterator[tuple[str, str]]:
    for amount in claim.amounts:
        rival = _find_rival(amount, claim, told, given)
        if rival is not None:
            yield "number", f"the source says {rival.text}, the claim {amount.text}"
    for day in claim.facts.days:
        text = _find_other_day(day, claim, told, given)
        if text is not None:
            yield "date", f"the source says {text}, the claim {day.text}"
    words = _find_denial(claim, told)
    if words is not None:
        yield "denial", words
    for mine, other in _find_opposites(claim, told):
        yield "opposite", f"the source says “{other}”, the claim “{mine}”"
    for name, other_name in _find_other_names(claim, told, index):
        yield "name", f"the source names {other_name}, the claim {name}"


def _share(stems: Sequence[str], among: Set[str]) -> float:
    return sum(stem in among for stem in stems) / len(stems) if stems else 0.0


def _plain_stems(claim: Reading) -> list[str]:
    """Return the claim's telling words without units and the like: amounts may differ."""
    return [
        word.stem
        for word in claim.telling
        if not any(amount.start <= word.start < amount.end for amount in claim.amounts)
    ]


def _find_rival(
    amount: Amount, claim: Reading, told: Reading, given: Sequence[Reading]
) -> Amount | None:
    """Return the sentence's amount that stands where the claim has another.

    Of the amounts that measure the same thing and that the claim does not give itself, the one
    whose neighbours are most like the claimed one's. At least one must be: for a bare number the
    next word, what it counts, or the word before it.
    """
    if amount.text.lower() == "one":  # mostly a pronoun
        return None
    if any(
        agree(amount, other) and (r is told or _speaks_of(amount, claim, other, r))
        for r in given
        for other in (*r.amounts, *r.years)
    ):
        return None
    mine = [*claim.amounts, *claim.years]
    best: tuple[int, Amount] | None = None
    for other in (*told.amounts, *told.years):
        if not comparable(amount, other) or any(agree(own, other) for own in mine):
            continue
        shared = _count_shared(amount, claim, other, told)
        if shared and (best is None or shared > best[0]):
            best = (shared, other)
    return best[1] if best else None


def _speaks_of(amount: Amount, claim: Reading, other: Amount, told: Reading) -> bool:
    """Tell whether a sentence that gives the claimed number may give it for the same thing.

    A year stands in many sentences: it must have a neighbour in common with the claim's.
    """
    return amount.what != "year" or _count_shared(amount, claim, other, told) > 0


def _count_shared(amount: Amount, claim: Reading, other: Amount, told: Reading) -> int:
    if amount.what in ("", "ordinal") and not _count_the_same(amount, claim, other, told):
        return 0
    is_year = amount.what == "year"
    near = _NEAR_DATE if is_year else _NEAR
    mine = claim.around(amount.start, amount.end, near=near)
    return len(mine & told.around(other.start, other.end, near=near, clause=not is_year))


def _count_the_same(amount: Amount, claim: Reading, other: Amount, told: Reading) -> bool:
    """Tell whether two bare numbers count the same thing: the word that follows, or precedes."""
    counted = claim.counted_by(amount.end), told.counted_by(other.end)
    if None not in counted:
        return counted[0] == counted[1]
    mine, theirs = claim.beside(amount.start, amount.end), told.beside(other.start, other.end)
    return any(a is not None and a == b for a, b in zip(mine, theirs, strict=True))


def _find_other_day(
    day: Day, claim: Reading, told: Reading, given: Sequence[Reading]
) -> str | None:
    """Return the date, or the year alone, that the sentence gives instead of the claimed one."""
    if any(same_day(day, other) for reading in given for other in reading.facts.days):
        return None
    years = [a for reading in given for a in reading.amounts if a.what == "year"]
    if day.year is not None and any(a.low <= day.year <= a.high for a in years):
        return None
    near = claim.around(day.start, day.end, near=_NEAR_DATE)
    for other in told.facts.days:
        if any(same_day(own, other) for own in claim.facts.days) or not _apart(day, other):
            continue
        if near & told.around(other.start, other.end, near=_NEAR_DATE):
            return other.text
    if day.year is None or told.facts.days:
        return None
    for amount in told.amounts:
        around = told.around(amount.start, amount.end, near=_NEAR_DATE)
        if amount.what == "year" and near & around:
            return amount.text
    return None


def _apart(claimed: Day, told: Day) -> bool:
    pairs = ((claimed.year, told.year), (claimed.month, told.month), (claimed.day, told.day))
    return any(a is not None and b is not None and a != b for a, b in pairs)


def _find_denial(claim: Reading, told: Reading) -> str | None:
    """Tell whether one of the two denies what the other says, and which.

    The first telling word after the denial must stand on both sides, and the clause that holds
    it in the source must hold most of the claim. "Not after 30 days" does not deny "within 30
    days".
    """
    if _beyond_and_within(claim.text, told.text) or _beyond_and_within(told.text, claim.text):
        return None
    if not claim.facts.negations and not _DENIAL.search(claim.text):
        denied = [place for stem, place in _find_denied(told) if stem in claim.stems]
        if any(_covers(told, place, claim) for place in denied):
            return "the source denies what the claim says"
    elif not told.facts.negations and not _NEGATIVE.search(told.text):
        heads = {stem for stem, _ in _find_denied(claim)}
        places = [word.start for word in told.telling if word.stem in heads]
        if any(_covers(told, place, claim) for place in places):
            return "the claim denies what the source says"
    return None


def _beyond_and_within(first: str, second: str) -> bool:
    """Tell whether one text speaks of what lies beyond a limit and the other of what does not."""
    return bool(_BEYOND.search(first) and _WITHIN.search(second)) and not (
        _WITHIN.search(first) or _BEYOND.search(second)
    )


def _find_denied(reading: Reading) -> Iterator[tuple[str, int]]:
    """Yield the first telling word after each denial in its clause, and its place."""
    for match in _DENIAL.finditer(reading.text):
        _, end = reading.clause_of(match.start())
        after = [w for w in reading.telling if match.end() <= w.start and w.end <= end]
        if after:
            yield after[0].stem, after[0].start


def _covers(told: Reading, place: int, claim: Reading) -> bool:
    start, end = told.clause_of(place)
    stems = {word.stem for word in told.words if start <= word.start and word.end <= end}
    return _share([word.stem for word in claim.telling], stems) >= _MOSTLY


def _find_opposites(claim: Reading, told: Reading) -> Iterator[tuple[str, str]]:
    """Yield words of the claim with the opposite that stands in their place.

    "Not open" is "closed": nothing is found where only one side denies something.
    """
    if claim.facts.negations != told.facts.negations or _NEGATIVE.search(told.text):
        return
    for word in claim.words:
        rivals = opposites_of(word.stem) & told.stems
        if not rivals or word.stem in told.stems or rivals & claim.stems:
            continue
        rest = [w.stem for w in claim.telling if w.stem != word.stem]
        if _share(rest, told.stems) < _MOSTLY:
            continue
        for other in told.words:
            if other.stem in rivals and _in_place(word, claim, other, told):
                yield claim.text[word.start : word.end], told.text[other.start : other.end]
                break


def _in_place(mine: Word | Name, claim: Reading, other: Word | Name, told: Reading) -> bool:
    """Tell whether two stretches have the same telling word right before or right after them."""
    pairs = zip(
        claim.beside(mine.start, mine.end), told.beside(other.start, other.end), strict=True
    )
    return any(a is not None and a == b for a, b in pairs)


def _find_other_names(
    claim: Reading, told: Reading, index: EvidenceIndex
) -> Iterator[tuple[str, str]]:
    """Yield names that no source knows with the one that the sentence has in their place."""
    for name in claim.facts.names:
        stems = _name_stems(name)
        if not stems or any(map(index.holds, stems)):
            continue
        rest = [w.stem for w in claim.telling if w.stem not in stems]
        if _share(rest, told.stems) < _MOSTLY:
            continue
        for other in told.facts.names:
            strange = not set(_name_stems(other)) & claim.stems and not _akin(name, other)
            if strange and len(other.text) > 1 and _in_slot(name, claim, other, told):
                yield name.text.removeprefix("The "), other.text.removeprefix("The ")
                break


def _in_slot(name: Name, claim: Reading, other: Name, told: Reading) -> bool:
    """Tell whether two names stand in the same place, after the same small word."""
    before = [
        next((w.stem for w in reversed(reading.words) if w.end <= start and w.stem != "the"), None)
        for reading, start in ((claim, name.start), (told, other.start))
    ]
    return before[0] == before[1] and _in_place(name, claim, other, told)


def _name_stems(name: Name) -> list[str]:
    """Return a name's telling words as the index counts them: "Jean-Luc" is two."""
    words = read_words(name.text)
    return [w.stem for w in words if not is_common(w.stem) and len(name.text) > 1]


def _akin(name: Name, other: Name) -> bool:
    """Tell whether two names may mean the same: "WHO", "Chinese" and "China"."""
    first, second = name.text.casefold(), other.text.casefold()
    if first[:4] == second[:4]:
        return True
    return any(
        "".join(word[0] for word in re.split(r"[\s-]+", long) if word) == short.replace(".", "")
        for long, short in ((first, second), (second, first))
    )


def find_reckoned(part: Part, index: EvidenceIndex, position: int) -> str | None:
    """Return how a sentence says the claim in other figures ("18:00", "6 pm"), or None.

    All other telling words of the claim must stand in the sentence, and every amount must agree.
    """
    claim, told = _read_claim(part), _read_sentence(index, position)
    if not claim.amounts or claim.facts.days or claim.facts.negations != told.facts.negations:
        return None
    plain = _plain_stems(claim)
    if not plain or _share(plain, told.stems) < 1:
        return None
    other: list[str] = []
    for amount in claim.amounts:
        found = _find_equal(amount, claim, told)
        if found is None:
            return None
        if found.text.casefold() != amount.text.casefold():
            other.append(f"{found.text} is {amount.text}")
    return f"the span holds the claim's words, and {', '.join(other)}" if other else None


def _find_equal(amount: Amount, claim: Reading, told: Reading) -> Amount | None:
    """Return the sentence's amount from which the claimed one follows."""
    for other in told.amounts:
        if entails(other, amount) and _count_shared(amount, claim, other, told):
            return other
    return None


def drop_dates(part: Part) -> Part:
    """Return a part without the words of its dates and years."""
    facts = find_facts(part.text)
    spans = [(day.start, day.end) for day in facts.days]
    spans += [(q.start, q.end) for q in facts.quantities if q.what == "year"]
    kept = (w for w in part.words if not any(start <= w.start < end for start, end in spans))
    return replace(part, words=tuple(kept))


def find_uncovered(part: Part, index: EvidenceIndex, among: Sequence[int]) -> str | None:
    """Return the stretch of the claim that no chosen sentence covers, or None.

    It runs from the first to the last telling word that is missing, so that it reads as a phrase.
    """
    stems = {word.stem for position in among for word in index.sentences[position].words}
    missing = [w for w in part.words if not is_common(w.stem) and w.stem not in stems]
    if not missing:
        return None
    return part.text[missing[0].start : missing[-1].end]
