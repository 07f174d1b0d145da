"""What exactly differs between a claim and a sentence of the sources, in words.

These findings turn a probability into a verdict with a reason: which number, date, name or denial
speaks against the claim, and which of its words no sentence covers. A wrong finding is worse than
a missed one, so each kind asks that the words around the difference agree.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence, Set
from functools import cache, partial
from typing import NamedTuple

from claimwise.judges.amounts import Amount, agree, comparable, entails
from claimwise.judges.evidence import EvidenceIndex, LinkedSentence
from claimwise.judges.facts import Day, Name, same_day
from claimwise.judges.link import SourceSentence
from claimwise.judges.reading import TextFacts, tells
from claimwise.text.words import Word, is_common, read_stems

_ALIKE = 0.5  # share of the claim's words that a sentence must hold to speak about the same thing
_MOSTLY = 0.75  # ... where the difference is a single word: a denial, an opposite, a name
_NEAR = 3  # words on either side of a number that tell what it counts
_NEAR_DATE = 5  # ... of a date: it may stand at either end of a sentence
_BEYOND = re.compile(r"\b(?:after|over|above|beyond|past|(?:more|later|longer) than)\b")
_WITHIN = re.compile(r"\b(?:within|before|until|under|below|up to|(?:less|fewer|earlier) than)\b")

# What belongs to a word that begins, or ends, beside it: “(1,200”, “U.S.”, “4K”.
_WORD_END = re.compile(r"[^\s,;:()\[\]“”\"«»—–]*$")
_WORD_START = re.compile(r"(?:[.'’/&+-]?\w)*%?")
# What joins two parts of a claim, at the end of the first or the beginning of the second.
_JOINT = re.compile(
    r"[\s,;:.–—]+$|^[\s,;:.–—]+|(?<!\w)(?:and|but|or|which|who|that|because|so|while|where|although|"
    r"including|an?|the|it|he|she|they|is|was|are|were|has|have|had|also|with|by|in|of|for|to|as|on|"
    r"at|from)$|^(?:and|but|or)\b",
    re.IGNORECASE,
)

IsGiven = Callable[[Amount, int], bool]  # an amount of the claim, the number of a source


class FactDifference(NamedTuple):
    """One thing that a sentence says otherwise: its place, and how to tell a reader."""

    position: int
    kind: str
    words: str


def list_content_stems(stems: Sequence[str]) -> list[str]:
    """Return the words and numbers that carry meaning."""
    return [stem for stem in stems if stem[:1].isdigit() or tells(stem)]


def find_differences(
    part: LinkedSentence, index: EvidenceIndex, among: Sequence[int]
) -> list[FactDifference]:
    """Return how sentences that speak about the same thing differ from the claim.

    A number or date differs when the sentence gives one of the same kind in the same
    surroundings and no looked-at sentence of its source gives the claimed one; a denial when the
    same clause is denied on one side alone; a word when its opposite stands in its place; a name
    when the sources never mention it and have another one there.
    """
    claim = part.reading
    alike = [p for p in among if _share(claim.plain, index.sentences[p].stem_set) >= _ALIKE]
    if not alike:
        return []
    unknown = _find_unknown_names(claim, index)
    looked_at = [index.sentences[p] for p in dict.fromkeys((*part.digest, *among))]
    is_given: IsGiven = partial(_is_given, claim, looked_at)
    if claim.amounts and len(alike) > 1:  # remembered: all that are alike ask the same
        is_given = cache(is_given)
    return [
        FactDifference(position, kind, words)
        for position in alike
        for kind, words in _compare(claim, index.sentences[position], looked_at, unknown, is_given)
    ]


def _compare(
    claim: TextFacts,
    told: SourceSentence,
    looked_at: Sequence[SourceSentence],
    unknown: Sequence[UnknownName],
    is_given: IsGiven,
) -> Iterator[tuple[str, str]]:
    for amount in claim.amounts:
        rival = _find_rival(amount, claim, told)
        if rival is not None and not is_given(amount, told.source):
            yield "number", f"the source says {rival.text}, the claim {amount.text}"
    given = [sentence for sentence in looked_at if sentence.source == told.source]
    for day in claim.days:
        text = _find_other_day(day, claim, told, given)
        if text is not None:
            yield "date", f"the source says {text}, the claim {day.text}"
    words = _find_denial(claim, told)
    if words is not None:
        yield "denial", words
    for mine, other in _find_opposites(claim, told):
        yield "opposite", f"the source says “{other}”, the claim “{mine}”"
    for name, other_name in _find_other_names(claim, told, unknown):
        yield "name", f"the source names {other_name}, the claim {name}"


def find_disagreement(claim: TextFacts, told: TextFacts) -> str | None:
    """Say what a passage says otherwise than a claim, if it speaks of just that; else None.

    Most of the claim's other words must stand in it. A number disagrees only where the passage has
    no second one: a sum or a difference of several may well be what the claim says.
    """
    alike = _share(claim.plain, told.stem_set) >= _MOSTLY
    for amount in claim.amounts if alike and len(told.amounts) + len(told.years) == 1 else ():
        rival = _find_rival(amount, claim, told)
        if rival is not None:
            return f"it says {rival.text}, the claim {amount.text}"
    for day in claim.days if alike else ():
        instead = _find_other_day(day, claim, told, [told])
        if instead is not None:
            return f"it says {instead}, the claim {day.text}"
    for mine, other in _find_opposites(claim, told):
        return f"it says “{other}”, the claim “{mine}”"
    denial = _find_denial(claim, told)
    return None if denial is None else denial.replace("the source", "it")


def _share(stems: Sequence[str], among: Set[str]) -> float:
    return sum(map(among.__contains__, stems)) / len(stems) if stems else 0.0


def _find_rival(amount: Amount, claim: TextFacts, told: TextFacts) -> Amount | None:
    """Return the sentence's amount that stands where the claim has another.

    Of the amounts that measure the same thing and that the claim does not give itself, the one
    whose neighbours are most like the claimed one's. At least one must be: for a bare number the
    next word, what it counts, or the word before it.
    """
    if amount.text.lower() == "one":  # mostly a pronoun
        return None
    if any(agree(amount, other) for other in (*told.amounts, *told.years)):
        return None
    mine = [*claim.amounts, *claim.years]
    best: tuple[int, Amount] | None = None
    for other in (*told.amounts, *told.years):
        if not comparable(amount, other) or any(agree(own, other) for own in mine):
            continue
        shared = _count_shared(amount, claim, other, told)
        if shared and (best is None or shared > best[0]):
            best = (shared, other)
    return None if best is None else best[1]


def _is_given(
    claim: TextFacts, looked_at: Sequence[SourceSentence], amount: Amount, source: int
) -> bool:
    """Tell whether a looked-at sentence of a source gives the claimed amount."""
    return any(
        agree(amount, other) and _speaks_of(amount, claim, other, reading)
        for reading in looked_at
        if reading.source == source
        for other in (*reading.amounts, *reading.years)
    )


def _speaks_of(amount: Amount, claim: TextFacts, other: Amount, told: TextFacts) -> bool:
    """Tell whether a sentence that gives the claimed number may give it for the same thing.

    A year stands in many sentences: it must have a neighbour in common with the claim's.
    """
    return amount.what != "year" or _count_shared(amount, claim, other, told) > 0


def _count_shared(amount: Amount, claim: TextFacts, other: Amount, told: TextFacts) -> int:
    if amount.what in ("", "ordinal") and not _count_the_same(amount, claim, other, told):
        return 0
    is_year = amount.what == "year"
    near = _NEAR_DATE if is_year else _NEAR
    mine = claim.around(amount.start, amount.end, near=near)
    return len(mine & told.around(other.start, other.end, near=near, clause=not is_year))


def _count_the_same(amount: Amount, claim: TextFacts, other: Amount, told: TextFacts) -> bool:
    """Tell whether two bare numbers count the same thing: the word that follows, or precedes."""
    counted = claim.counted_by(amount.end), told.counted_by(other.end)
    if None not in counted:
        return counted[0] == counted[1]
    mine, theirs = claim.beside(amount.start, amount.end), told.beside(other.start, other.end)
    return any(a is not None and a == b for a, b in zip(mine, theirs, strict=True))


def _find_other_day(
    day: Day, claim: TextFacts, told: TextFacts, given: Sequence[TextFacts]
) -> str | None:
    """Return the date, or the year alone, that the sentence gives instead of the claimed one."""
    text = _find_day_instead(day, claim, told)
    if text is None or any(same_day(day, other) for r in given for other in r.days):
        return None
    years = [a for reading in given for a in reading.amounts if a.what == "year"]
    if day.year is not None and any(a.low <= day.year <= a.high for a in years):
        return None
    return text


def _find_day_instead(day: Day, claim: TextFacts, told: TextFacts) -> str | None:
    near = claim.around(day.start, day.end, near=_NEAR_DATE)
    for other in told.days:
        if any(same_day(own, other) for own in claim.days) or not _apart(day, other):
            continue
        if near & told.around(other.start, other.end, near=_NEAR_DATE):
            return other.text
    if day.year is None or told.days:
        return None
    for amount in told.amounts:
        if amount.what == "year" and near & told.around(amount.start, amount.end, near=_NEAR_DATE):
            return amount.text
    return None


def _apart(claimed: Day, told: Day) -> bool:
    pairs = ((claimed.year, told.year), (claimed.month, told.month), (claimed.day, told.day))
    return any(a is not None and b is not None and a != b for a, b in pairs)


def _find_denial(claim: TextFacts, told: TextFacts) -> str | None:
    """Tell whether one of the two denies what the other says, and which.

    The first content word after the denial must stand on both sides, and the clause that holds
    it in the source must hold most of the claim. "Not after 30 days" does not deny "within 30
    days".
    """
    if _share(claim.telling_stems, told.stem_set) < _MOSTLY:
        return None
    if not claim.denials and not claim.negations:
        places = [word.start for word in told.denied if word.stem in claim.stem_set]
        finding = "the source denies what the claim says"
    elif claim.denied and not told.negations and not told.is_negative:
        heads = {word.stem for word in claim.denied}
        places = [word.start for word in told.telling if word.stem in heads]
        finding = "the claim denies what the source says"
    else:
        return None
    if not any(_covers(told, place, claim) for place in places):
        return None
    if _beyond_and_within(claim.small, told.small) or _beyond_and_within(told.small, claim.small):
        return None
    return finding


def _beyond_and_within(first: str, second: str) -> bool:
    """Tell whether one text speaks of what lies beyond a limit and the other of what does not."""
    return bool(_BEYOND.search(first) and _WITHIN.search(second)) and not (
        _WITHIN.search(first) or _BEYOND.search(second)
    )


def _covers(told: TextFacts, place: int, claim: TextFacts) -> bool:
    start, end = told.clause_of(place)
    stems = {word.stem for word in told.words if start <= word.start and word.end <= end}
    if _lacks_subject(told, start, place):
        stems |= _find_subject(told, start, place)
    return _share(claim.telling_stems, stems) >= _MOSTLY


def _lacks_subject(told: TextFacts, start: int, place: int) -> bool:
    """Tell whether a clause begins with its denial: "… and cannot be changed" names nobody."""
    return any(
        start <= denial < place and not any(start <= word.start < denial for word in told.telling)
        for denial, _ in told.denials
    )


def _find_subject(told: TextFacts, start: int, place: int) -> set[str]:
    """Return the words of the clause before, unless it says what this one denies.

    "Sold online and not sold at the desk" does not deny that it is sold online.
    """
    first = max((before for before, _ in told.clauses if before < start), default=start)
    earlier = {word.stem for word in told.words if first <= word.start < start}
    denied = next(word.stem for word in told.words if word.start == place)
    return set() if denied in earlier else earlier


def _find_opposites(claim: TextFacts, told: TextFacts) -> Iterator[tuple[str, str]]:
    """Yield words of the claim with the opposite that stands in their place.

    "Not open" is "closed": nothing is found where only one side denies something.
    """
    for place, opposites in claim.opposites:
        rivals, stem = opposites & told.stem_set, claim.stems[place]
        if not rivals or stem in told.stem_set or rivals & claim.stem_set:
            continue
        if claim.negations != told.negations or told.is_negative:
            return
        rest = [other for other in claim.telling_stems if other != stem]
        if _share(rest, told.stem_set) < _MOSTLY:
            continue
        word = claim.words[place]
        for other in told.words:
            if other.stem in rivals and _in_place(word, claim, other, told):
                yield claim.text[word.start : word.end], told.text[other.start : other.end]
                break


def _in_place(mine: Word | Name, claim: TextFacts, other: Word | Name, told: TextFacts) -> bool:
    """Tell whether two stretches have the same content word right before or right after them."""
    pairs = zip(
        claim.beside(mine.start, mine.end), told.beside(other.start, other.end), strict=True
    )
    return any(a is not None and a == b for a, b in pairs)


UnknownName = tuple[Name, list[str]]
"""A name of the claim that the sources never mention, and its stems."""


def _find_unknown_names(claim: TextFacts, index: EvidenceIndex) -> list[UnknownName]:
    named = [(name, _name_stems(name)) for name in claim.names]
    return [(name, stems) for name, stems in named if stems and not any(map(index.holds, stems))]


def _find_other_names(
    claim: TextFacts, told: TextFacts, unknown: Sequence[UnknownName]
) -> Iterator[tuple[str, str]]:
    """Yield names that no source knows with the one that the sentence has in their place."""
    for name, stems in unknown:
        rest = [stem for stem in claim.telling_stems if stem not in stems]
        if _share(rest, told.stem_set) < _MOSTLY:
            continue
        for other in told.names:
            strange = not set(_name_stems(other)) & claim.stem_set and not _akin(name, other)
            if strange and len(other.text) > 1 and _in_slot(name, claim, other, told):
                yield name.text.removeprefix("The "), other.text.removeprefix("The ")
                break


def _in_slot(name: Name, claim: TextFacts, other: Name, told: TextFacts) -> bool:
    """Tell whether two names stand in the same place, after the same small word."""
    before = [
        next((w.stem for w in reversed(reading.words) if w.end <= start and w.stem != "the"), None)
        for reading, start in ((claim, name.start), (told, other.start))
    ]
    return before[0] == before[1] and _in_place(name, claim, other, told)


def _name_stems(name: Name) -> list[str]:
    """Return a name's content words as the index counts them: "Jean-Luc" is two."""
    return [s for s in read_stems(name.text) if not is_common(s) and len(name.text) > 1]


def _akin(name: Name, other: Name) -> bool:
    """Tell whether two names may mean the same: "WHO", "Chinese" and "China"."""
    first, second = name.text.casefold(), other.text.casefold()
    if first[:4] == second[:4]:
        return True
    return any(
        "".join(word[0] for word in re.split(r"[\s-]+", long) if word) == short.replace(".", "")
        for long, short in ((first, second), (second, first))
    )


def find_reckoned(part: LinkedSentence, index: EvidenceIndex, position: int) -> str | None:
    """Return how a sentence says the claim in other figures ("18:00", "6 pm"), or None.

    All other content words of the claim must stand in the sentence, and every amount must agree.
    """
    claim, told = part.reading, index.sentences[position]
    if not claim.amounts or claim.days or _share(claim.plain, told.stem_set) < 1:
        return None
    if not _says_otherwise(claim, told) or claim.negations != told.negations:
        return None
    other: list[str] = []
    for amount in claim.amounts:
        found = _find_equal(amount, claim, told)
        if found is None:
            return None
        if found.text.casefold() != amount.text.casefold():
            other.append(f"{found.text} is {amount.text}")
    return f"the span holds the claim's words, and {', '.join(other)}" if other else None


def _says_otherwise(claim: TextFacts, told: TextFacts) -> bool:
    """Tell whether a claimed amount follows from one that is written in another way."""
    return any(
        mine.text.casefold() != other.text.casefold() and entails(other, mine)
        for mine in claim.amounts
        for other in told.amounts
    )


def _find_equal(amount: Amount, claim: TextFacts, told: TextFacts) -> Amount | None:
    """Return the sentence's amount from which the claimed one follows."""
    for other in told.amounts:
        if entails(other, amount) and _count_shared(amount, claim, other, told):
            return other
    return None


class Gap(NamedTuple):
    """What of a claim a sentence does not cover: the stretch, and what stands around it."""

    before: str
    uncovered: str
    after: str
    share: float  # of the stretch's own content words: how many are missing

    @property
    def covered(self) -> str:
        """All the rest, which is covered, without what joined it to the stretch."""
        return " … ".join(words for side in (self.before, self.after) if (words := _trim(side)))


def find_gap(part: LinkedSentence, index: EvidenceIndex, among: Sequence[int]) -> Gap | None:
    """Return what of a claim some sentences do not cover, and what they do; None without a gap.

    It runs from the first to the last content word that is missing, so that it reads as a phrase,
    and cuts neither a name nor a word (“4K”, “U.S.”) in two.
    """
    text, content = part.text, [w for w in part.reading.words if not is_common(w.stem)]
    stems = set().union(*(index.sentences[position].stems for position in among))
    missing = [w for w in content if w.stem not in stems]
    if not missing:
        return None
    start, end = _widen(part.reading, missing[0].start, missing[-1].end)
    inside = sum(start <= word.start < end for word in content)
    return Gap(text[:start], text[start:end], text[end:], len(missing) / inside)


def _widen(claim: TextFacts, start: int, end: int) -> tuple[int, int]:
    """Return a stretch with all of the names and words that it begins or ends in."""
    for name in claim.names:
        if " and " in name.text:  # “Ghent and Bruges” are two
            continue
        if name.start < start < name.end:
            start = name.start
        if name.start < end < name.end:
            end = name.end
    before, after = _WORD_END.search(claim.text[:start]), _WORD_START.match(claim.text, end)
    start -= len(before.group()) if before else 0
    end = after.end() if after else end
    return start, end


def _trim(text: str) -> str:
    """Return a stretch of a claim without what joined it to the rest: commas, “and”, “which is”."""
    while (kept := _JOINT.sub("", text)) != text:
        text = kept
    return text
