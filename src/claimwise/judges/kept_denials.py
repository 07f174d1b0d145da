"""Does a claim deny what its piece says, or say what it denies?"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from claimwise.judges.kept_names import MOST_NAMES, find_name
from claimwise.judges.kept_words import load_kept_words
from claimwise.judges.reading import TextFacts
from claimwise.judges.stated_facts import StatedFacts
from claimwise.text.words import find_stem

# Words that say “not” in their own way; with “to” they are denials, which are read as such.
_REFUSING = re.compile(
    r"\b(?:prohibit|forbid|forbad|bann(?:ed|ing)|bans?\b|lack(?!\w*lustre)|den(?:y|ie)|refus|fail|"
    r"prevent|reject|absen|exclud|rarely|seldom|hardly|scarcely|barely)\w*(?!\s+to\b)"
)
_ONLY = re.compile(r"\b(?:only|solely|exclusively|unique|sole)\b")
_FREE = re.compile(r"\bfree\b")
_PRICE = re.compile(r"\b(?:cost|charge|fee|pay|price)\w*")
_DENYING = frozenset(("never", "no", "not", "none"))  # read as denials
_PREFIXES = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "non-")
_NO_DENIALS = load_kept_words("no denials")
_LEAST_BASE = 4  # letters that a prefix may stand before


def choose_reference(
    read: StatedFacts, whole: StatedFacts, parts: Sequence[StatedFacts]
) -> StatedFacts:
    """Return the statement that a claim stands for: of several, the one with most of its words.

    The whole piece where the claim has words of it that no single statement has.
    """
    if not parts:
        return whole
    wanted = read.facts.telling_stems
    best = max(parts, key=lambda part: sum(s in part.facts.stem_set for s in wanted))
    beyond = [
        s
        for s in wanted
        if s not in best.facts.stem_set and any(s in p.facts.stem_set for p in parts)
    ]
    return whole if beyond else best


def find_reversal(read: StatedFacts, told: StatedFacts) -> str | None:
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
    if mine != theirs and _is_made_up_for(read.facts, told.facts):
        return None
    if turned is not None:
        return describe_turn(*turned)
    if mine:
        return "the judge's claim denies what the answer says"
    return "the judge's claim says what the answer denies"


def describe_turn(said: str, meant: str) -> str:
    """Say which words of a claim and of the answer are opposites; one of them may be missing."""
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
        # “but tuples are not” denies what stands before it.
        denied = {w.stem for w in told.telling if start <= w.start < high} or inside
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


def _find_turned_word(read: StatedFacts, told: StatedFacts) -> tuple[str, str] | None:
    """Return a word of the claim and the one of the piece that says the opposite.

    Of a verb such as “lack”, which only one of them has, the other's is "".
    """
    mine, theirs = read.facts, told.facts
    found = find_opposite(mine, theirs)
    if found is not None:
        return None if _are_reversed(read, told) else found
    for one, other in ((mine, theirs), (theirs, mine)):
        pair = _find_prefixed(one, other)
        if pair is not None:
            return pair if one is mine else (pair[1], pair[0])
    for one, other in ((mine, theirs), (theirs, mine)):
        if "against" in one.stem_set - other.stem_set and "for" in other.stem_set - one.stem_set:
            return ("against", "for") if one is mine else ("for", "against")
    refused = _REFUSING.search(mine.small), _REFUSING.search(theirs.small)
    if bool(refused[0]) == bool(refused[1]):
        return None
    said, meant = (found.group() if found else "" for found in refused)
    return said, meant


def find_opposite(claim: TextFacts, told: TextFacts) -> tuple[str, str] | None:
    """Return a word of a claim that another text says the opposite of, with that; or None."""
    for place, rivals in claim.opposites:
        found = rivals & told.stem_set - _DENYING
        if claim.stems[place] in _DENYING:
            continue
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
            denies = base != stem and len(base) >= _LEAST_BASE and stem not in _NO_DENIALS
            if denies and base in other.stem_set - one.stem_set:
                return _show_word(one, stem), _show_word(other, base)
        base = find_stem(stem[:-4]) if stem.endswith("less") else ""
        if base in other.stem_set:
            return _show_word(one, stem), _show_word(other, base)
    return None


def _are_reversed(read: StatedFacts, told: StatedFacts) -> bool:
    """Tell whether a claim turns a comparison round: “B is smaller than A”."""
    names = [name for name in told.names[:MOST_NAMES] if find_name(name, read) is not None]
    for first, last in combinations(names, 2):
        mine = find_name(first, read), find_name(last, read)
        if mine[0] and mine[1] and mine[0].start > mine[1].start:
            return True
    order = [stem for stem in told.facts.telling_stems if stem in read.facts.stem_set]
    places = [read.facts.stems.index(stem) for stem in order]
    compares = "than" in told.facts.stem_set & read.facts.stem_set
    return places != sorted(places) if compares else places[:1] > places[-1:]


def _is_made_up_for(mine: TextFacts, theirs: TextFacts) -> bool:
    """Tell whether other words say what a denial on the other side does.

    “Only” for “no other …”; “free” for “no charge”.
    """
    said, denied = (theirs, mine) if mine.denials else (mine, theirs)
    if _ONLY.search(said.small) is not None and _ONLY.search(denied.small) is None:
        return True
    return _FREE.search(said.small) is not None and _PRICE.search(denied.small) is not None
