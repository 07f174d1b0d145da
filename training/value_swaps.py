"""Pairs made by rules that teach whose value is whose: true claims and their swapped twins.

Two kinds of material. In passages that people wrote, a number, a name or an answer is exchanged for
another of its kind from the same passage. In records that are made up here (tables, CSV, JSON,
lists, prose about several owners), a value is exchanged for another owner's, or the owner's parent
for another one. Evidence is what the product's own code would hand to the encoder.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from claimwise.judges.evidence import EvidenceIndex, weigh_part
from claimwise.types.rows import Source
from pairs import (
    NOT_SUPPORTED,
    SUPPORTS,
    Pair,
    Passage,
    join_sentences,
    negate,
    rank_sentences,
)

SWAPPED, KEPT = "swapped-value", "kept-value"  # origins of the pairs
_MOST_OF_A_PASSAGE = 3  # claims
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d(?![\w])|(?<![\w.,])\d(?![\w.,]\d|\w)")
_NAME_WORDS = r"[A-Z][a-z]+(?: (?:of |the |de )?[A-Z][a-z]+)*"
_NAME = re.compile(rf"(?<=[a-z,] ){_NAME_WORDS}")
_FIRST_NAME = re.compile(_NAME_WORDS)
_MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_MONTH = re.compile(rf"\b(?:{'|'.join(_MONTH_NAMES)})\b(?= \d|,)")
# Within a line, no word can be taken for another.
_ROLES = (
    "father mother brother sister son daughter uncle aunt grandfather grandmother",
    "husband wife", "king queen prince princess emperor",
    "president chairman secretary treasurer", "teacher student pupil",
    "author editor publisher translator", "director producer actor composer",
    "winner loser runner-up", "buyer seller", "employer employee", "doctor patient nurse",
    "monday tuesday wednesday thursday friday saturday sunday",
    "spring summer autumn winter", "north south east west", "northern southern eastern western",
    "red blue green yellow black white", "before after", "increased decreased",
    "larger smaller", "largest smallest", "higher lower", "highest lowest", "oldest youngest",
    "won lost", "began ended", "first second third last", "majority minority", "left right",
)  # fmt: skip
_OTHER_ROLES = {
    word: [other for other in line.split() if other != word]
    for line in _ROLES
    for word in line.split()
}
_ROLE = re.compile(rf"\b(?:{'|'.join(_OTHER_ROLES)})\b")
_UNITS = (
    ("kilometres", "miles"), ("km", "miles"), ("metres", "feet"), ("m", "ft"), ("kg", "tonnes"),
    ("million", "billion"),
    ("thousand", "million"), ("percent", "per thousand"), ("hours", "days"), ("minutes", "hours"),
    ("days", "weeks"), ("weeks", "months"), ("months", "years"),
    ("tonnes", "kilograms"), ("dollars", "euros"), ("pounds", "dollars"), ("acres", "hectares"),
)  # fmt: skip
_OTHER_UNIT = dict(_UNITS) | {other: unit for unit, other in _UNITS}
_UNIT = re.compile(rf"(?<=\d )(?:{'|'.join(sorted(_OTHER_UNIT, key=len, reverse=True))})\b")
Way = Callable[[str, str, random.Random], str | None]  # sentence and text → a false one
_SUBJECT_QUESTION = re.compile(
    r"(?:who|what|which(?: \w+){1,3}?) (?P<rest>"
    r"(?!did|do|does|is the name|are|were)[a-z]+(?:ed|s|is|was|ade|ote|on|an)\b .+)\?",
    re.IGNORECASE,
)


def make_prose_swaps(
    passages: Sequence[Passage], siblings: Mapping[str, Sequence[Passage]], rng: random.Random
) -> Iterator[Pair]:
    """Yield claims about passages, each true and with a swap: at most three of a passage.

    A claim is a sentence or an answered question. Half of the sentences are read in a window around
    them, all else as the product reads a source: the passage, at times among others of its article.
    """
    for passage in passages:
        others = [other for other in siblings[passage.title] if other is not passage]
        around = [passage, *rng.sample(others, min(len(others), rng.choice((0, 0, 1, 3))))]
        rng.shuffle(around)
        text = " ".join(other.text for other in around)
        index = EvidenceIndex([Source(source_id="s", corpus_ver="-", source_text=text)])
        twins = [*_swap_sentences(passage, text, index, rng), *_swap_answers(passage, index, rng)]
        for pair in rng.sample(twins, min(len(twins), _MOST_OF_A_PASSAGE)):
            yield from pair


def _swap_sentences(
    passage: Passage, text: str, index: EvidenceIndex, rng: random.Random
) -> Iterator[tuple[Pair, Pair]]:
    for number, sentence in enumerate(passage.sentences):
        if not 6 <= len(sentence.split()) <= 45:
            continue
        swapped = swap_value(sentence, text, rng)
        if swapped is None:
            continue
        true = _shorten(sentence, rng)
        if rng.random() < 0.5:
            window = _choose_window(passage, number, sentence, rng)
            yield Pair(window, true, SUPPORTS, KEPT), Pair(window, swapped, NOT_SUPPORTED, SWAPPED)
        else:
            yield (
                _read_evidence(true, SUPPORTS, KEPT, index),
                _read_evidence(swapped, NOT_SUPPORTED, SWAPPED, index),
            )


def swap_value(sentence: str, text: str, rng: random.Random) -> str | None:
    """Return the sentence with one thing in it exchanged, or None where nothing can be."""
    for way in rng.sample(_WAYS, len(_WAYS)):
        swapped = way(sentence, text, rng)
        if swapped is not None and swapped != sentence:
            return swapped
    return None


def _choose_window(passage: Passage, number: int, claim: str, rng: random.Random) -> str:
    """Return a few of the passage's sentences, the one that tells among them."""
    order = [i for i in rank_sentences(passage.sentences, claim) if i != number]
    return join_sentences(passage.sentences, [number, *order[: rng.choice((1, 2, 3, 4))]])


def _shorten(sentence: str, rng: random.Random) -> str:
    """Return the sentence without what stands in brackets, now and then: still true."""
    return re.sub(r" \([^()]*\)", "", sentence) if rng.random() < 0.5 else sentence


def _swap_number(sentence: str, text: str, rng: random.Random) -> str | None:
    found = list(_NUMBER.finditer(sentence))
    if not found:
        return None
    chosen = rng.choice(found)
    here = {match[0] for match in found}
    others = sorted({n for n in _NUMBER.findall(text) if n not in here})
    alike = [
        n for n in others if abs(len(n) - len(chosen[0])) <= 1 and ("." in n) == ("." in chosen[0])
    ]
    if not alike and rng.random() < 0.5:
        alike = [_vary(chosen[0], rng)]
    return _exchange(sentence, chosen, rng.choice(alike)) if alike else None


def _vary(number: str, rng: random.Random) -> str:
    """Return the number with one digit changed."""
    places = [i for i, sign in enumerate(number) if sign.isdigit()]
    at = rng.choice(places)
    digit = rng.choice([d for d in "123456789" if d != number[at]])
    return number[:at] + digit + number[at + 1 :]


def _swap_name(sentence: str, text: str, rng: random.Random) -> str | None:
    found = [m for m in _NAME.finditer(sentence) if m[0] not in _MONTH_NAMES]
    return _exchange_name(sentence, rng.choice(found), text, rng) if found else None


def _swap_subject(sentence: str, text: str, rng: random.Random) -> str | None:
    """Exchange the name that a sentence begins with; that it is one shows elsewhere in the text."""
    found = _FIRST_NAME.match(sentence)
    if found is None or not re.search(rf"[a-z,] {re.escape(found[0])}\b", text):
        return None
    return _exchange_name(sentence, found, text, rng)


def _exchange_name(
    sentence: str, chosen: re.Match[str], text: str, rng: random.Random
) -> str | None:
    size = len(chosen[0].split()) > 1
    others = sorted({
        n for n in _NAME.findall(text)
        if n not in sentence and (len(n.split()) > 1) == size and not _overlap(n, chosen[0])
        and n not in _MONTH_NAMES
    })  # fmt: skip
    return _exchange(sentence, chosen, rng.choice(others)) if others else None


def _swap_month(sentence: str, text: str, rng: random.Random) -> str | None:
    found = list(_MONTH.finditer(sentence))
    if not found:
        return None
    chosen = rng.choice(found)
    return _exchange(sentence, chosen, rng.choice([m for m in _MONTH_NAMES if m not in sentence]))


def _swap_role(sentence: str, text: str, rng: random.Random) -> str | None:
    found = list(_ROLE.finditer(sentence))
    if not found:
        return None
    chosen = rng.choice(found)
    others = [role for role in _OTHER_ROLES[chosen[0]] if role not in sentence]
    return _exchange(sentence, chosen, rng.choice(others)) if others else None


def _swap_within(sentence: str, text: str, rng: random.Random) -> str | None:
    """Exchange two numbers, or two names, of the sentence for each other."""
    for pattern in (_NUMBER, _NAME):
        found = list(pattern.finditer(sentence))
        if len(found) < 2:
            continue
        at = rng.randrange(len(found) - 1)
        one, other = found[at], found[at + 1]
        between = sentence[one.end() : other.start()]
        # “A and B”, “A, B”, “upper A or upper B”: exchanging them changes nothing.
        if one[0] == other[0] or re.match(r",? (?:and|or)\b", between):
            continue
        if not re.search(r"[a-z]{3,}", between):
            continue
        return sentence[: one.start()] + other[0] + between + one[0] + sentence[other.end() :]
    return None


def _swap_unit(sentence: str, text: str, rng: random.Random) -> str | None:
    found = list(_UNIT.finditer(sentence))
    if not found:
        return None
    chosen = rng.choice(found)
    return _exchange(sentence, chosen, _OTHER_UNIT[chosen[0]])


_WAYS: tuple[Way, ...] = (
    _swap_number, _swap_number, _swap_number, _swap_name, _swap_name, _swap_subject, _swap_subject,
    _swap_within, _swap_within, _swap_unit, _swap_month, _swap_role, _swap_role, negate,
)  # fmt: skip


def _swap_answers(
    passage: Passage, index: EvidenceIndex, rng: random.Random
) -> Iterator[tuple[Pair, Pair]]:
    """Yield questions with their answer, and with the answer to another question of its kind."""
    for question, answer in passage.questions:
        if len(answer.split()) > 8 or answer not in passage.text:
            continue
        others = sorted({
            other for _, other in passage.questions
            if _shape(other) == _shape(answer) and not _overlap(other, answer)
        })  # fmt: skip
        if others:
            plain = rng.random() < 0.8
            true = _word_answer(question, answer, plain=plain)
            swapped = _word_answer(question, rng.choice(others), plain=plain)
            yield (
                _read_evidence(true, SUPPORTS, KEPT, index),
                _read_evidence(swapped, NOT_SUPPORTED, SWAPPED, index),
            )


def _word_answer(question: str, answer: str, *, plain: bool) -> str:
    """Return “Who founded it? Anna Berg.”, or “Anna Berg founded it.” where that is easy."""
    told = _SUBJECT_QUESTION.fullmatch(question.strip())
    if plain and told:
        return f"{answer[:1].upper()}{answer[1:]} {told['rest'].strip()}."
    return f"{question.strip().rstrip('?')}? {answer[:1].upper()}{answer[1:]}."


def _shape(text: str) -> tuple[bool, bool, bool]:
    return any(map(str.isdigit, text)), text[:1].isupper(), len(text.split()) > 3


def _overlap(one: str, other: str) -> bool:
    return bool(set(one.lower().split()) & set(other.lower().split()))


def _exchange(text: str, match: re.Match[str], other: str) -> str:
    return text[: match.start()] + other + text[match.end() :]


def make_claim_swaps(human: Sequence[Pair], rng: random.Random) -> Iterator[Pair]:
    """Yield supported claims of people, true and with a swap, with the evidence that they had."""
    for pair in human:
        if pair.label == SUPPORTS and 20 < len(pair.claim) < 300:
            swapped = swap_value(pair.claim, pair.evidence, rng)
            if swapped is not None:
                yield Pair(pair.evidence, pair.claim, SUPPORTS, KEPT)
                yield Pair(pair.evidence, swapped, NOT_SUPPORTED, SWAPPED)


class Kind(NamedTuple):
    """What owners of one kind are called, belong to and have."""

    parts: tuple[Sequence[str], Sequence[str]]  # of an owner's name
    parent: str
    parents: tuple[str, ...]
    attributes: tuple[tuple[str, str], ...]  # name, how its values look


_FIRST = [
    "Ada",
    "Bruno",
    "Carla",
    "Dmitri",
    "Elena",
    "Farid",
    "Greta",
    "Hiro",
    "Ines",
    "Jonas",
    "Keiko",
    "Luis",
    "Maren",
    "Nils",
    "Oksana",
    "Pavel",
    "Quentin",
    "Rosa",
    "Sven",
    "Tala",
]
_LAST = [
    "Abbott",
    "Brandt",
    "Castell",
    "Duarte",
    "Eriksen",
    "Fontaine",
    "Galvez",
    "Hofer",
    "Ivers",
    "Jansen",
    "Kovacs",
    "Lindqvist",
    "Moreau",
    "Novak",
    "Okafor",
    "Petrov",
    "Quist",
    "Rossi",
]
_PLACE = [
    "Alder",
    "Birch",
    "Cedar",
    "Dun",
    "Elm",
    "Fern",
    "Glen",
    "Hazel",
    "Iron",
    "Juniper",
    "Kings",
    "Lark",
    "Maple",
    "North",
    "Oak",
    "Pine",
    "Quarry",
    "Raven",
    "Stone",
    "Thorn",
]
_ENDING = ("ford", "bury", "field", "haven", "mouth", "wick", "dale", "ton", "bridge", "worth")
_PRODUCT = (
    "Aero",
    "Bolt",
    "Core",
    "Delta",
    "Echo",
    "Flux",
    "Grid",
    "Halo",
    "Ion",
    "Jet",
    "Kite",
    "Lumen",
)
_MODEL = (" 100", " 250", " Pro", " Mini", " X", " S2", " Max", " Air", " One", " 7")
KINDS = (
    Kind((tuple(f"{n} " for n in _FIRST), _LAST), "Department",
         ("Finance", "Legal", "Research", "Sales", "Logistics", "Design"),
         (("Age", "small"), ("Salary", "money"), ("Start year", "year"), ("Projects", "small"),
          ("Overtime hours", "hundreds"), ("Manager", "person"), ("Office", "place"))),
    Kind((tuple(f"{n} " for n in _FIRST), _LAST), "Club",
         ("Harbor Lions", "Valley Rockets", "Metro Stars", "Bay Wolves", "Hill Foxes"),
         (("Goals", "small"), ("Matches", "hundreds"), ("Total points", "thousands"),
          ("Minutes per game", "decimal"), ("Born", "date"), ("Shirt number", "small"))),
    Kind((_PLACE, _ENDING), "Region", ("Eastland", "Westmark", "Upper Vale", "Lowlands", "Coast"),
         (("Population", "big"), ("Area", "km2"), ("Elevation", "metres"), ("Founded", "year"),
          ("Mayor", "person"), ("Rainfall", "mm"), ("Unemployment", "percent"))),
    Kind((_PRODUCT, _MODEL), "Maker", ("Norvex", "Solari", "Tandem", "Bright Works", "Kestrel"),
         (("Price", "money"), ("Weight", "kg"), ("Battery life", "hours"), ("Warranty", "months"),
          ("Released", "date"), ("Colour", "colour"), ("Rating", "decimal"))),
)  # fmt: skip
_COLOURS = ("red", "blue", "green", "black", "white", "silver", "orange", "grey")
_MONTHS = ("January", "March", "April", "June", "July", "September", "October", "December")


def make_value(look: str, rng: random.Random) -> str:
    """Return a made-up value of one look."""
    makers = {
        "small": lambda: str(rng.randint(2, 99)),
        "hundreds": lambda: str(rng.randint(100, 999)),
        "thousands": lambda: f"{rng.randint(1000, 9999)}",
        "big": lambda: f"{rng.randint(12, 980)},{rng.randint(100, 999)}",
        "money": lambda: f"${rng.randint(20, 990)}" if rng.random() < 0.5
        else f"{rng.randint(1, 99)},{rng.randint(100, 999)} euros",
        "year": lambda: str(rng.randint(1780, 2025)),
        "date": lambda: f"{rng.randint(1, 28)} {rng.choice(_MONTHS)} {rng.randint(1960, 2025)}",
        "decimal": lambda: f"{rng.randint(1, 39)}.{rng.randint(1, 9)}",
        "km2": lambda: f"{rng.randint(10, 990)} km²",
        "metres": lambda: f"{rng.randint(10, 2900)} m",
        "mm": lambda: f"{rng.randint(300, 2200)} mm",
        "kg": lambda: f"{rng.randint(1, 60)}.{rng.randint(1, 9)} kg",
        "hours": lambda: f"{rng.randint(3, 48)} hours",
        "months": lambda: f"{rng.choice((6, 12, 18, 24, 36, 48, 60))} months",
        "percent": lambda: f"{rng.randint(1, 24)}.{rng.randint(1, 9)}%",
        "person": lambda: f"{rng.choice(_FIRST)} {rng.choice(_LAST)}",
        "place": lambda: f"{rng.choice(_PLACE)}{rng.choice(_ENDING)}",
        "colour": lambda: rng.choice(_COLOURS),
    }  # fmt: skip
    return makers[look]()


class Row(NamedTuple):
    """One owner of a made-up set of records."""

    owner: str
    parent: str
    values: dict[str, str]


def make_record_swaps(number: int, rng: random.Random) -> Iterator[Pair]:
    """Yield claims about made-up records: true, with another's value, with another parent."""
    for _ in range(number):
        kind = rng.choice(KINDS)
        rows = _make_rows(kind, rng)
        source = rng.choice(_WRITERS)(kind, rows, rng)
        index = EvidenceIndex([Source(source_id="s", corpus_ver="-", source_text=source)])
        for _ in range(3):
            yield from _ask_record(kind, rows, index, rng)


def _make_rows(kind: Kind, rng: random.Random) -> list[Row]:
    names = {
        f"{rng.choice(kind.parts[0])}{rng.choice(kind.parts[1])}" for _ in range(rng.randint(2, 7))
    }
    chosen = rng.sample(kind.attributes, rng.randint(2, min(5, len(kind.attributes))))
    return [
        Row(name, rng.choice(kind.parents), {a: make_value(look, rng) for a, look in chosen})
        for name in sorted(names, key=lambda _: rng.random())
    ]


def _ask_record(
    kind: Kind, rows: list[Row], index: EvidenceIndex, rng: random.Random
) -> Iterator[Pair]:
    row = rng.choice(rows)
    attribute = rng.choice(sorted(row.values))
    value = row.values[attribute]
    others = [r.values[attribute] for r in rows if r.values[attribute] != value]
    with_parent = rng.random() < 0.3
    template = rng.choice(_CLAIMS_WITH_PARENT if with_parent else _CLAIMS)

    def word(told: str, parent: str) -> str:
        name = attribute.lower() if rng.random() < 0.8 else attribute
        return template.format(owner=row.owner, attribute=name, value=told, parent=parent)

    if not others:
        return
    yield _read_evidence(word(value, row.parent), SUPPORTS, KEPT, index)
    yield _read_evidence(word(rng.choice(others), row.parent), NOT_SUPPORTED, SWAPPED, index)
    parents = [p for p in kind.parents if p != row.parent]
    if with_parent and rng.random() < 0.5:
        yield _read_evidence(word(value, rng.choice(parents)), NOT_SUPPORTED, SWAPPED, index)


def _read_evidence(claim: str, label: int, origin: str, index: EvidenceIndex) -> Pair:
    """Return the pair as the product's encoder would get it."""
    part = weigh_part(claim, index)
    return Pair(*index.pair_up(part), label, origin)


_CLAIMS = (
    "{owner}'s {attribute} is {value}.",
    "The {attribute} of {owner} is {value}.",
    "{owner}: {attribute} {value}",
    "{owner}: {attribute}: {value}",
    "For {owner}, the {attribute} is given as {value}.",
    "{owner} is listed with {value} as {attribute}.",
    "What is the {attribute} of {owner}? {value}.",
    "{value} is the {attribute} of {owner}.",
    "According to the data, {owner} has {attribute} {value}.",
)
_CLAIMS_WITH_PARENT = (
    "{owner} ({parent}): {attribute} {value}",
    "{owner}, {parent}: {attribute} {value}",
    "{owner} of {parent} has {attribute} {value}.",
    "At {parent}, the {attribute} of {owner} is {value}.",
)


def _write_markdown(kind: Kind, rows: list[Row], rng: random.Random) -> str:
    header = ["Name", kind.parent, *rows[0].values]
    lines = [f"| {' | '.join(header)} |", "|" + " --- |" * len(header)]
    lines += [f"| {' | '.join([r.owner, r.parent, *r.values.values()])} |" for r in rows]
    return "\n".join(lines)


def _write_csv(kind: Kind, rows: list[Row], rng: random.Random) -> str:
    lines = [";".join(["name", kind.parent.lower(), *rows[0].values])]
    lines += [";".join([r.owner, r.parent, *r.values.values()]) for r in rows]
    return "\n".join(lines)


def _write_json(kind: Kind, rows: list[Row], rng: random.Random) -> str:
    keys = {a: a.lower().replace(" ", "_") for a in rows[0].values}
    told = [
        {"name": r.owner, kind.parent.lower(): r.parent} | {keys[a]: v for a, v in r.values.items()}
        for r in rows
    ]
    return json.dumps(told, ensure_ascii=False, indent=rng.choice((None, 2)))


def _write_list(kind: Kind, rows: list[Row], rng: random.Random) -> str:
    lines = []
    for number, row in enumerate(rows, 1):
        mark = rng.choice((f"{number}.", "-", "*"))
        lines.append(f"{mark} **{row.owner}** ({row.parent})")
        lines += [f"   - {attribute}: {value}" for attribute, value in row.values.items()]
    return "\n".join(lines)


def _write_prose(kind: Kind, rows: list[Row], rng: random.Random) -> str:
    """Write a sentence or two an owner, in wordings that change within the text."""
    told = []
    for row in rows:
        items = list(row.values.items())
        first, rest = items[0], items[1:]
        opening = rng.choice((
            f"{row.owner} belongs to {row.parent}, with a {first[0].lower()} of {first[1]}.",
            f"{row.owner} ({row.parent}) has {first[1]} as {first[0].lower()}.",
            f"At {row.parent}, the {first[0].lower()} of {row.owner} is {first[1]}.",
        ))  # fmt: skip
        more = ", and ".join(f"the {a.lower()} is {v}" for a, v in rest[:2])
        told.append(f"{opening} {more[:1].upper()}{more[1:]}." if more else opening)
        told += [f"Its {a.lower()} is {v}." for a, v in rest[2:]]
    return " ".join(told)


def _write_one_sentence(kind: Kind, rows: list[Row], rng: random.Random) -> str:
    """Write one sentence about one attribute of all: “…, while …, and …”."""
    sentences = []
    for attribute in rows[0].values:
        parts = [f"{r.owner} has {r.values[attribute]}" for r in rows[:4]]
        joint = rng.choice((", while ", "; ", ", whereas ", " and "))
        sentences.append(f"For {attribute.lower()}, {joint.join(parts)}.")
    parents = ", ".join(f"{r.owner} to {r.parent}" for r in rows[:4])
    return " ".join([*sentences, f"They belong as follows: {parents}."])


_WRITERS = (
    _write_markdown,
    _write_csv,
    _write_json,
    _write_list,
    _write_prose,
    _write_one_sentence,
)
