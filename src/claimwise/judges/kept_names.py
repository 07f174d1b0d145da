"""Names that a claim must keep: which of them it exchanges, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations, takewhile

from claimwise.judges.facts import Name
from claimwise.judges.kept_words import load_kept_words
from claimwise.judges.reading import TextFacts
from claimwise.judges.stated_facts import BEGINNING, StatedFacts, Surroundings
from claimwise.text.words import find_stem

_PEOPLE_FORMS = ("n", "an", "ian", "ean", "ese", "ish", "i", "ic")  # Italian, Chinese, Swedish
_PLACE_FORMS = ("", "a", "e", "y", "en", "ia", *_PEOPLE_FORMS)
_WORD = re.compile(r"[^\W\d_]+")
_POSSESSIVE = re.compile(r"['’]s?$")
_CAPITALS = re.compile(r"[A-Z]")
_JOINED = re.compile(r"\s*(?:,|and|or|&|,\s*and)\s*")
_MUTUAL = load_kept_words("mutual")
_ROLE_WORDS = load_kept_words("role words")

_REACH = 80  # characters before a name that are looked at
MOST_NAMES = 12  # that are compared pair by pair; a text with more is a list

NamePair = tuple[Name, Name]


def find_other_name(
    read: StatedFacts, told: StatedFacts, around: Surroundings, said: Sequence[str]
) -> str | None:
    """Say which name of a claim is not the piece's.

    One that neither piece nor surroundings have was brought in. One of the surroundings says what
    “it” means, unless it stands where the piece has a name, or the claims lost one.
    """
    known = told.facts.stem_set
    for name in read.names:
        strange = [stem for stem in name.stems if stem not in known]
        if not strange or may_mean(name, told):
            continue
        if name.start == 0 and " " not in name.text and _is_form_of(name.text, told):
            continue
        gone = [own for own in told.names if not read.facts.stem_set.issuperset(own.stems)]
        lost = [own for own in gone if read.facts.stem_set.isdisjoint(own.stems)]
        if not _is_from(around.facts, name, strange):
            return _describe_name(name, lost or gone)
        rival = _find_rival_name(name, strange, read, told) or _find_dropped(lost, said)
        if rival is not None:
            return _describe_name(name, [rival])
    return None


def _is_from(around: StatedFacts, name: Name, strange: Sequence[str]) -> bool:
    return all(s in around.facts.stem_set for s in strange) or may_mean(name, around)


def find_other_opener(read: StatedFacts, told: StatedFacts) -> str | None:
    """Say that a claim opens with another word in the place of a name: “Jobs founded Apple”."""
    mine, theirs = read.opener, told.opener
    if mine is None or theirs is None or mine in read.names or theirs not in told.names:
        return None
    lost = read.facts.stem_set.isdisjoint(theirs.stems)
    strange = told.facts.stem_set.isdisjoint(mine.stems)
    follow = read.facts.stems[1:2] == told.facts.stems[1:2]
    return _describe_name(mine, [theirs]) if lost and strange and follow else None


def may_mean(name: Name, told: StatedFacts) -> bool:
    """Tell whether a text has another form of a name: initials, a people for its country."""
    first = _bare_name(name)
    if first in told.initials or any(_are_initials(short, first) for short in told.initials):
        return True
    if any(_are_initials(first, _bare_name(other)) for other in told.names):
        return True
    words = [word for word in _WORD.findall(first.lower()) if word not in told.facts.small]
    return all(any(_are_akin(w, o) for o in told.forms.get(w[:BEGINNING], ())) for w in words)


def _bare_name(name: Name) -> str:
    """Return a name without its article, its stops and its possessive ending."""
    return _POSSESSIVE.sub("", name.text.removeprefix("The ").replace(".", ""))


def _are_initials(short: str, long: str) -> bool:
    capitals = "".join(word[0] for word in re.split(r"[\s-]+", long) if _CAPITALS.match(word))
    return short.isupper() and len(short) > 1 and capitals == short


def _are_akin(word: str, other: str) -> bool:
    """Tell a people from another word for the country: “chinese”, “china”."""
    pairs = zip(word, other, strict=False)
    shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    if shared < BEGINNING:
        return False
    ends = word[shared:], other[shared:]
    return any(e in _PEOPLE_FORMS for e in ends) and all(e in _PLACE_FORMS for e in ends)


def _is_form_of(word: str, told: StatedFacts) -> bool:
    """Tell whether a word that opens a claim is made from one of the piece: “Rainfall”, “rain”."""
    low = word.lower()
    return any(
        len(stem) >= 4 and (low.startswith(stem) or stem.startswith(low))
        for stem in told.facts.stem_set
    )


def _find_rival_name(
    name: Name, strange: Sequence[str], read: StatedFacts, told: StatedFacts
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
    """Return the small word that a name stands behind, or a comma; "" for a subject."""
    before = facts.small[max(0, name.start - _REACH) : name.start].split("\n")[-1].split()
    if before and before[-1].endswith(","):
        return ","
    if before and before[-1] in ("the", "a", "an"):
        before.pop()
    return before[-1] if before and find_stem(before[-1]) in _ROLE_WORDS else ""


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


def find_exchange(read: StatedFacts, told: StatedFacts) -> str | None:
    """Say that two names changed places: “Bob hired Alice” for “Alice hired Bob”.

    In the passive voice names change places and mean the same; if they do not, it means another.
    """
    names = [n for n in told.list_names(read) if not read.facts.stem_set.isdisjoint(n.stems)]
    if len(names) < 2 or not _MUTUAL.isdisjoint(told.facts.stem_set & read.facts.stem_set):
        return None
    turned = ("by" in told.facts.stem_set) != ("by" in read.facts.stem_set)
    for first, last in combinations(names[:MOST_NAMES], 2):
        mine = find_name(first, read), find_name(last, read)
        if mine[0] is None or mine[1] is None or mine[0] is mine[1]:
            continue
        swapped = _are_turned if turned else _are_swapped
        if swapped((first, last), told, (mine[0], mine[1]), read):
            return f"the judge's claim has {first.text} and {last.text} change places"
    return None


def _are_swapped(names: NamePair, told: StatedFacts, mine: NamePair, read: StatedFacts) -> bool:
    """Tell whether each of two names stands where the other one stood."""
    if mine[0].start < mine[1].start or _are_joined(names, told) or _are_joined(mine[::-1], read):
        return False
    slots = _find_slot(names[0], told.facts), _find_slot(names[1], told.facts)
    return (_find_slot(mine[1], read.facts), _find_slot(mine[0], read.facts)) == slots


def _are_turned(names: NamePair, told: StatedFacts, mine: NamePair, read: StatedFacts) -> bool:
    """Tell whether the passive voice has the one who acts and the one acted on as they were."""
    slots = {_find_slot(names[0], told.facts), _find_slot(mine[0], read.facts)}
    ends = {_find_slot(names[1], told.facts), _find_slot(mine[1], read.facts)}
    return mine[0].start < mine[1].start and slots == {""} and ends == {"", "by"}


def _are_joined(names: tuple[Name, ...], text: StatedFacts) -> bool:
    """Tell whether two names are items of one list, whose order says nothing."""
    between = text.facts.text[names[0].end : names[1].start]
    return _JOINED.fullmatch(between) is not None


def find_name(name: Name, read: StatedFacts) -> Name | None:
    """Return the name of a text that shares a word with another; the word that opens it too."""
    first = [read.opener] if read.opener is not None else []
    return next((n for n in (*first, *read.names) if not set(n.stems).isdisjoint(name.stems)), None)
