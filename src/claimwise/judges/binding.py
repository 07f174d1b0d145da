"""Whose value is whose: a number, date or name counts only where it belongs to the claim's subject.

“Adults pay 5 euros” is not supported by “12 euros for adults and 5 euros for children”, though
every word of it is there. A value is taken for swapped only when it is sure:

- the sources give the claimed value, but in every place that speaks of the claim for something
  else: the words that set that place apart (“children”) are not the claim's;
- they give another value of the same kind, whose own words (“adults”) are the claim's.

What sets two values apart is found by comparing like with like: the words before them and the
words after them, in a sentence; owner and attribute, in a record. Words that only one of two
clauses has are taken to hold for both (“Tickets cost 12 euros for adults and 5 for children”).
Wherever the two can't be told apart this module is silent, and the verdict is as it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from claimwise.judges.amounts import Amount, agree
from claimwise.judges.evidence import EvidenceIndex, LinkedSentence
from claimwise.judges.facts import Day, Name, same_day
from claimwise.judges.holders import Holder, Value, list_holders
from claimwise.judges.lazy import lazy
from claimwise.judges.reading import Term, TextFacts, tells
from claimwise.text.words import read_stems

_LOOKED_AT = 6  # sentences, best first, in which rivals of a value are looked for
_LOOKED_AT_FOR_NAMES = 2
_MOST_VALUES = 30  # of a claim; one with more is a list of its own
_LEFT_OUT = 2  # words that a second clause may leave out: “children [pay] 5”
_MOST_PLACES = 24  # sentences that give the claimed number; more prove nothing
_HALF = 0.5
_COVERED = 0.75  # share of the claim's words that another sentence must hold to be about it


class Misbinding(NamedTuple):
    """A value that belongs to something else: the sentence that gives the right one, and why."""

    position: int
    words: str


Apart = list[tuple[list[Term], list[Term]]]


def find_misbinding(part: LinkedSentence, index: EvidenceIndex) -> Misbinding | None:
    """Return the first value of a claim that the sources give for something else, or None."""
    claim = part.reading
    if not part.ranked:
        return None
    numbers: list[Value] = [*claim.amounts, *claim.days]
    found = _search(claim, numbers, part.ranked[:_LOOKED_AT], index)
    if found is None:
        found = _search(claim, claim.names, part.ranked[:_LOOKED_AT_FOR_NAMES], index)
    return found


def _search(
    claim: TextFacts, values: Sequence[Value], near: Sequence[int], index: EvidenceIndex
) -> Misbinding | None:
    own: list[Holder] | None = None
    for value in values[:_MOST_VALUES]:
        holders, rivals = _find_places(value, claim, near, index)
        if not rivals:
            continue
        if own is None:
            own = list_holders(claim, -1, names=isinstance(value, Name))
        claimed = _Claimed(value, own, claim)
        for rival in rivals:
            if rival.is_record or claimed.noun is None or claimed.noun in rival.context:
                found = _compare(claimed, holders, rival, index)
                if found is not None:
                    return found
    return None


class _Claimed:
    """A value of a claim, with the claim's words that go with it."""

    def __init__(self, value: Value, own: Sequence[Holder], claim: TextFacts) -> None:
        self.value = value
        self.noun = next((holder.noun for holder in own if holder.value == value), None)
        self.words = _list_words(value, own, claim)

    @lazy
    def wanted(self) -> set[str]:
        """The words that carry meaning."""
        return {stem for stem in self.words if tells(stem)}

    @lazy
    def figures(self) -> set[str]:
        """The numbers among them."""
        return {stem for stem in self.words if stem[:1].isdigit()}


def _list_words(value: Value, own: Sequence[Holder], claim: TextFacts) -> frozenset[str]:
    """Return the claim's words that go with one of its values.

    Those that set another of its values apart are left out: in “Adults pay 5 euros, children 12”
    the 5 goes with the adults.
    """
    mine = [holder for holder in own if holder.value == value]
    others = [holder for holder in own if holder.value != value]
    foreign = {
        term.stem
        for holder in mine
        for other in others
        if _are_alike(holder, other)
        for _, theirs in _tell_apart(holder, other)
        for term in theirs
    }
    return claim.stem_set - foreign - set(read_stems(value.text))


def _find_places(
    value: Value, claim: TextFacts, near: Sequence[int], index: EvidenceIndex
) -> tuple[list[Holder], list[Holder]]:
    """Return where the sources give a value, and where the closest sentences give another.

    Most sentences need not be read: a rival stands beside the value, in a record, or in a
    sentence that says nearly all that the claim says; a name's always in such a one.
    """
    names = isinstance(value, Name)
    wanted = frozenset(claim.telling_stems)
    if isinstance(value, Name):
        wanted, places = wanted.difference(value.stems), list[int]()
    else:
        stems = [stem for stem in read_stems(value.text) if stem[:1].isdigit()]
        places = [p for stem in stems for p in index.find(stem)[:_MOST_PLACES]]
    needed = len(wanted) if names else _HALF * len(wanted)
    close = [
        p
        for p in near
        if p in places
        or index.sentences[p].record is not None
        or len(wanted & index.sentences[p].context) >= needed
    ]
    holders: list[Holder] = []
    rivals: list[Holder] = []
    for p in close:
        for held in index.hold_values(p, names=names):
            (holders if _agrees(value, held.value) else rivals).append(held)
    if not rivals:
        return [], []
    for p in dict.fromkeys(near if names else places):
        if p not in close:
            found = index.hold_values(p, names=names)
            holders += (held for held in found if _agrees(value, held.value))
    kinds = {(holder.is_record, holder.kind) for holder in holders}
    return holders, [rival for rival in rivals if _may_be_alike(rival, kinds)]


def _may_be_alike(rival: Holder, kinds: Set[tuple[bool, str]]) -> bool:
    """Tell whether there is a value of a rival's kind; in a column kinds may differ."""
    if not rival.is_record:
        return (False, rival.kind) in kinds
    return (True, rival.kind) in kinds or (True, "") in kinds or not rival.kind


def _compare(
    claimed: _Claimed, holders: Sequence[Holder], rival: Holder, index: EvidenceIndex
) -> Misbinding | None:
    """Return a misbinding if the rival is what the claim speaks of, and no holder is."""
    words = claimed.words
    told = words & rival.context
    direct: list[Term] = []
    for holder in holders:
        if not _are_close(holder, rival, claimed, index):
            if holder.floats or not words & holder.context < told:
                return None
            continue  # it speaks of something else
        apart = _tell_apart(holder, rival, words) if _are_alike(holder, rival, words) else []
        if not apart or not _belongs(words, apart, lenient=rival.is_record):
            return None
        direct = direct or [term for mine, _ in apart for term in mine]
    return _describe(claimed.value, rival, direct) if direct else None


def _describe(value: Value, rival: Holder, direct: Sequence[Term]) -> Misbinding:
    owner = " ".join(dict.fromkeys(term.text for term in direct))
    reason = (
        f"the source says {rival.value.text} here, the claim {value.text}, "
        f"which the source gives for “{owner}”"
    )
    return Misbinding(rival.position, reason)


def _belongs(words: frozenset[str], apart: Apart, *, lenient: bool) -> bool:
    """Tell whether the claim has the rival's words and none of the holder's."""
    if any(term.stem in words for mine, _ in apart for term in mine):
        return False
    return all(_is_covered(words, theirs, lenient=lenient) for _, theirs in apart)


def _is_covered(words: frozenset[str], terms: Sequence[Term], *, lenient: bool) -> bool:
    """Tell whether a claim names what some words name: any part of a name, most other words."""
    named = [term for term in terms if term.named]
    if named:
        return any(term.stem in words for term in named)
    share = sum(term.stem in words for term in terms) / len(terms)
    return share >= 0.5 if lenient else share > 0.5


def _are_close(holder: Holder, rival: Holder, claimed: _Claimed, index: EvidenceIndex) -> bool:
    """Tell whether two values are so close that one can be taken for the other.

    They stand in records of one source, in one sentence, or in sentences of one source of which
    the rival's has every word of the claim that the other has, and at least half of them all; of
    bare numbers and dates without names nearly all. A name must have all the claim's other words
    in its own stretch, or leave them out.
    """
    mine, theirs = index.sentences[holder.position], index.sentences[rival.position]
    if mine.source != theirs.source or holder.is_record != rival.is_record:
        return False
    if rival.is_record:
        return True
    if isinstance(rival.value, Name) and isinstance(holder.value, Name):
        wanted = claimed.wanted.difference(holder.value.stems)
        return claimed.figures <= theirs.stem_set and _share_words(holder, rival, claimed, wanted)
    return mine is theirs or _say_the_same(holder, rival, claimed)


def _share_words(holder: Holder, rival: Holder, claimed: _Claimed, wanted: Set[str]) -> bool:
    """Tell whether the stretches of two names have the claim's other words."""
    if holder.position == rival.position:
        return rival.stems | holder.stems >= wanted
    return rival.stems >= wanted and not claimed.words.isdisjoint(rival.stems & holder.stems)


def _say_the_same(holder: Holder, rival: Holder, claimed: _Claimed) -> bool:
    """Tell whether two sentences give their numbers or dates for what the claim speaks of."""
    if holder.floats or (rival.kind == "" and rival.noun is None and holder.noun is None):
        return False  # nothing tells what they count
    wanted = claimed.wanted
    covered = wanted & rival.context
    if len(covered) < _HALF * len(wanted):
        return False
    dated = rival.kind in ("year", "day")
    has_all = wanted & holder.context <= covered
    if dated and not has_all:
        return False
    if has_all and rival.kind and not dated:
        return True
    named = holder.has_name and rival.has_name
    if named or not has_all:
        return named
    shared = rival.stems & holder.stems
    return len(covered) >= _COVERED * len(wanted) and not claimed.words.isdisjoint(shared)


def _are_alike(holder: Holder, other: Holder, words: Set[str] | None = None) -> bool:
    """Tell whether two values are of one kind.

    A bare number counts what the word behind it says, which must be the claim's word; without
    one it counts what an earlier one does (“Lind scored 1,930 points and Sund 2,370”). A number in
    the same column is of the same kind, with its unit or without.
    """
    mine, theirs = holder.value, other.value
    if type(mine) is not type(theirs) or holder.kind == "age":
        return False  # people have many ages in one text
    if holder.kind != other.kind:
        column = holder.is_record and holder.sides[1] == other.sides[1]
        return column and isinstance(mine, Amount) and "" in (holder.kind, other.kind)
    if (holder.noun is None) != (other.noun is None):
        first, last = (other, holder) if holder.noun is None else (holder, other)
        if first.position == last.position and first.value.start > last.value.start:
            return False
    noun = other.noun or holder.noun
    return noun is None or words is None or noun in words


def _agrees(value: Value, held: Value) -> bool:
    """Tell whether a source's value is the claim's, as far as it is given."""
    if isinstance(value, Name):
        return isinstance(held, Name) and bool(set(value.stems) & set(held.stems))
    if isinstance(value, Day):
        return isinstance(held, Day) and same_day(value, held)
    if isinstance(held, Day):
        return value.what == "year" and value.low == held.year
    return isinstance(held, Amount) and agree(value, held)


def _tell_apart(holder: Holder, other: Holder, words: Set[str] | None = None) -> Apart:
    """Return, side by side, the words that only one of two values has.

    A side on which one of them has no word tells nothing: its words hold for both. Where names
    differ, the names count alone. In one sentence the second clause leaves out what the first
    has said (“Adults pay 12 euros and children 5”), so only as many words are compared. In two
    sentences sides need not correspond: all words are compared, of the rival's the claim's.
    """
    apart: Apart = []
    together = holder.position == other.position and not holder.is_record
    one = (*holder.sides[0], *holder.sides[1])
    two = (*other.sides[0], *other.sides[1])
    if not together and not holder.is_record:
        for own, foreign in _differ(one, two, together=False):
            kept = [term for term in foreign if words is None or term.stem in words]
            apart += [(own, kept)] if kept else []
        return apart
    for mine, theirs in zip(holder.sides, other.sides, strict=True):
        apart += _differ(mine, theirs, together=together)
    if not apart and together:
        apart += _differ(one, two, together=True)
    return apart


def _differ(mine: Sequence[Term], theirs: Sequence[Term], *, together: bool) -> Apart:
    """Return the words that only one of two rows of words has, if both have some."""
    shared = {term.stem for term in mine} & {term.stem for term in theirs}
    one = [term for term in mine if term.stem not in shared]
    two = [term for term in theirs if term.stem not in shared]
    if any(term.named for term in one) and any(term.named for term in two):
        one, two = ([term for term in terms if term.named] for terms in (one, two))
    elif together and (pairs := _pair_up(mine, theirs, shared)):
        return pairs
    elif together and abs(len(one) - len(two)) <= _LEFT_OUT:
        least = min(len(one), len(two))
        one, two = one[:least], two[:least]
    return [(one, two)] if one and two else []


def _pair_up(mine: Sequence[Term], theirs: Sequence[Term], shared: Set[str]) -> Apart:
    """Return words that stand beside the same word: the *southern* region, the *western* region."""
    beside = {
        (term.stem, step): other
        for step in (1, -1)
        for term, other in _list_beside(theirs, step)
        if term.stem in shared and other.stem not in shared
    }
    found = (
        (one, beside.get((term.stem, step)))
        for step in (1, -1)
        for term, one in _list_beside(mine, step)
        if one.stem not in shared
    )
    return [([one], [two]) for one, two in found if two is not None]


def _list_beside(terms: Sequence[Term], step: int) -> Iterator[tuple[Term, Term]]:
    ordered = list(terms) if step > 0 else list(reversed(terms))
    return pairwise(ordered)
