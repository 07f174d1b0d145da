"""Numbers and dates that a claim must keep: which of them it changes, in words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from claimwise.judges.binding import find_misbinding
from claimwise.judges.evidence import EvidenceIndex, weigh_part
from claimwise.judges.facts import same_day
from claimwise.judges.kept_denials import describe_turn, find_opposite
from claimwise.judges.kept_words import load_kept_words
from claimwise.judges.stated_facts import StatedFacts, Surroundings, Value, gives, has_value
from claimwise.text.words import find_stem, is_common
from claimwise.types.rows import Source

_ERA = re.compile(r"\bB\.?C\.?(?:E\.?)?(?!\w)")
_REACH = 40  # characters around a number that are looked at
_MEASURES = load_kept_words("measures")


def find_other_number(read: StatedFacts, told: StatedFacts, around: Surroundings) -> str | None:
    """Say which number of a claim the piece does not give, or gives for something else."""
    for value in read.values:
        same = [other for other in told.values if has_value(value, other)]
        if any(_is_same_value(value, other, read, told) for other in same):
            continue
        if same:
            said, meant = _show(value, read), _show(same[0], told)
            return f"the judge's claim says “{said}”, the answer “{meant}”"
        if value.amount.what == "year" and int(value.value) in told.years:
            continue
        lost = [other for other in told.values if not gives(read, other)]
        rivals = [other for other in lost if other.amount.what == value.amount.what]
        excused = not rivals and _is_in_a_name(value, read, around.facts)
        if not excused and not (value.is_one and not lost):
            return _describe_number(value, rivals or lost)
    return None


def _is_in_a_name(value: Value, read: StatedFacts, around: StatedFacts) -> bool:
    """Tell whether a number belongs to a name of the context: “Apollo 11”, “the 2019 report”."""
    if value.amount.what not in ("", "year", "ordinal"):
        return False
    beside = _list_adjoining(value, read)
    return any(
        has_value(value, other) and bool(beside & _list_adjoining(other, around))
        for other in around.values
    )


def _is_same_value(value: Value, other: Value, read: StatedFacts, told: StatedFacts) -> bool:
    """Tell whether two equal numbers count the same thing, with the same bound."""
    if value.hedge != other.hedge:
        return False
    mine, theirs = value.amount.what, other.amount.what
    if mine != theirs and "" in (mine, theirs) and {mine, theirs} - {"", "year", "ordinal"}:
        # One has no unit: what it counts must not be something else.
        bare, text = (value, told) if not mine else (other, read)
        return bare.noun is None or bare.noun in text.facts.stem_set
    nouns = {value.noun, other.noun}
    measured = any(noun and (noun in _MEASURES or " " in noun) for noun in nouns)
    return len(nouns) == 1 or not measured or None in nouns


def _list_adjoining(value: Value, read: StatedFacts) -> frozenset[str]:
    """Return the words right before and right after a number, without any mark between."""
    text = read.facts.text
    start, end = value.amount.start, value.amount.end
    before = re.search(r"([\w'’]+) $", text[max(0, start - _REACH) : start])
    after = re.match(r" ([\w'’]+)", text[end : end + _REACH])
    words = [found[1] for found in (before, after) if found]
    return frozenset(stem for stem in map(find_stem, words) if not is_common(stem))


def _show(value: Value, read: StatedFacts) -> str:
    """Return a number with the words around it: “more than 100 people”, “230 volts”."""
    text, amount = read.facts.text, value.amount
    before = text[: amount.start].split()[-2:] if value.hedge else []
    after = text[amount.end :].split()[:1]
    return " ".join([*before, value.text, *after]).rstrip(" .,;:")


def _describe_number(value: Value, rivals: Sequence[Value]) -> str:
    if not rivals:
        return f"the judge's claim says {value.text}, which the answer does not say here"
    return f"the judge's claim says {value.text}, the answer {rivals[0].text}"


def find_other_date(read: StatedFacts, told: StatedFacts) -> str | None:
    """Say which date, month or era of a claim is not the piece's."""
    for day in read.facts.days:
        if not any(same_day(day, other) for other in told.facts.days):
            instead = told.facts.days[0].text if told.facts.days else "another date, or none"
            return f"the judge's claim says {day.text}, the answer {instead}"
    if not read.months <= told.months:
        return "the judge's claim names a month that the answer does not name here"
    eras = [_ERA.search(each.facts.text) for each in (read, told)]
    return None if bool(eras[0]) == bool(eras[1]) else _describe_era(read, told)


def _describe_era(read: StatedFacts, told: StatedFacts) -> str | None:
    """Say that only one side speaks of years before our era, if the same number is meant."""
    dated = told if _ERA.search(told.facts.text) else read
    other = read if dated is told else told
    for value in dated.values:
        tail = dated.facts.text[value.amount.end : value.amount.end + 8]
        if _ERA.search(tail) and gives(other, value):
            return "the judge's claim and the answer put a year on different sides of year 1"
    return None


def find_other_code(read: StatedFacts, told: StatedFacts, context: str) -> str | None:
    """Say which word with digits, such as “A380”, neither piece nor context has."""
    if not read.codes:
        return None
    known = told.facts.small
    for code, text in read.codes.items():
        if code not in told.codes and code not in known and code not in context.lower():
            return f"the judge's claim says {text}, which the answer does not say here"
    return None


def find_other_share(read: StatedFacts, told: StatedFacts) -> str | None:
    """Say that a claim speaks of all where the piece speaks of some, or of another time unit."""
    mine, theirs = read.shares, told.shares
    if mine and theirs and mine.keys().isdisjoint(theirs):
        said, meant = next(iter(mine.values())), next(iter(theirs.values()))
        return f"the judge's claim says “{said}”, the answer “{meant}”"
    if read.rates and told.rates and read.rates.isdisjoint(told.rates):
        return f"the judge's claim says “{min(read.rates)}”, the answer “{min(told.rates)}”"
    if read.steps != told.steps and read.steps == told.steps[::-1]:
        said, meant = (f"from {each.steps[0]} to {each.steps[1]}" for each in (read, told))
        return f"the judge's claim says “{said}”, the answer “{meant}”"
    return None


def find_mixture(read: StatedFacts, parts: Sequence[StatedFacts]) -> str | None:
    """Say that a claim takes a value or a name from another statement than the rest of it.

    “Sales were 7 million in 2019” for “5 million in 2019 and 7 million in 2020”: no statement has
    both, and the one that has more of it gives another of that kind.
    """
    if len(parts) < 2:
        return None
    known = frozenset().union(*(part.labels for part in parts))
    found = [_list_mixed(read, part, known) for part in parts]
    best = min(found, key=len)
    if best:
        return f"the judge's claim exchanges {best[0]} of the answer"
    fitting = [part for part in parts if all(gives(part, value) for value in read.values)]
    turned = [find_opposite(read.facts, part.facts) for part in fitting if read.values]
    words = turned[0] if turned and None not in turned else None
    return None if words is None else describe_turn(*words)


def _list_mixed(read: StatedFacts, part: StatedFacts, known: frozenset[str]) -> list[str]:
    """Return what a claim has from another statement, with what this one has in its place.

    ``known`` are the names of all statements: others come from the rest of the answer.
    """
    foreign = [v for v in read.values if not v.is_one and not gives(part, v)]
    rivals = [v for v in part.values if not v.is_one and not gives(read, v)]
    mixed = [
        f"{mine.text} and {other.text}"
        for mine in foreign
        for other in rivals
        if mine.amount.what == other.amount.what and mine.noun == other.noun
    ]
    strange = (read.labels & known) - part.labels - part.facts.stem_set
    missing = part.labels - read.labels - read.facts.stem_set
    return mixed or ([f"{min(strange)} and {min(missing)}"] if strange and missing else [])


def find_misplaced(claim: str, piece: str, read: StatedFacts, told: StatedFacts) -> str | None:
    """Say that a claim gives a value of the piece to something else than the piece does."""
    kinds = [value.amount.what for value in told.values]
    repeated = any(kinds.count(kind) > 1 for kind in {v.amount.what for v in read.values})
    if not repeated or told.facts.language or all(gives(read, v) for v in told.values):
        return None
    index = EvidenceIndex([Source(source_id="piece", corpus_ver="-", source_text=piece)])
    found = find_misbinding(weigh_part(claim, index), index)
    return None if found is None else found.words.replace("the source", "the answer")
