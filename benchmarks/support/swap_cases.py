"""Passages of our own with two or more owners of a value, and claims about them: true and swapped.

Every pair is made by rules from sentences that were written for this benchmark: no passage is from
a training or development set. A source gives the same attribute for several owners, as prose, list,
table, CSV or JSON; the true claim gives an owner's value, its twin the value of another owner.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from random import Random
from typing import NamedTuple

SHAPES = (
    "one sentence",
    "sentences",
    "sentences with pronouns",
    "long prose",
    "list",
    "nested list",
    "Markdown table",
    "CSV",
    "JSON",
    "question",
)
LONG = 1800  # words of filler around a passage in long prose


class Attribute(NamedTuple):
    """What owners have: its name, its values, and how prose, claims and questions say it."""

    name: str
    values: tuple[str, ...]
    prose: tuple[str, ...]  # {owner}, {value}
    clause: str  # a second clause, after the first: "{owner} {value}"
    pronoun: str  # a sentence whose subject was named before
    claims: tuple[str, ...]
    question: str


class Domain(NamedTuple):
    """Owners of one kind, what introduces them, and what they have."""

    owner: str
    owners: tuple[str, ...]
    opening: str
    attributes: tuple[Attribute, ...]


class Pair(NamedTuple):
    """A source with a true claim and its swapped twin."""

    shape: str
    source: str
    true: str
    swapped: str


DOMAINS = (
    Domain(
        "Tower",
        ("Kestrel Tower", "Heron Tower", "Plover Tower", "Osprey Tower", "Lapwing Tower"),
        "{owner} stands in the old harbour district.",
        (
            Attribute(
                "Height", ("139 m", "87 m", "204 m", "61 m", "118 m"),
                ("{owner} is {value} tall.", "{owner} rises {value} above the quay.",
                 "At {value}, {owner} can be seen from the ferry."),
                "{owner} is {value} tall", "It is {value} tall.",
                ("The {owner} has a height of {value}.", "The height of the {owner} is {value}.",
                 "The {owner} measures {value} from the ground to the top."),
                "How tall is the {owner}? It is {value} tall.",
            ),
            Attribute(
                "Opened", ("1931", "1940", "1968", "1987", "2004"),
                ("{owner} opened in {value}.", "Visitors have been let into {owner} since {value}.",
                 "{owner} was opened to the public in {value}."),
                "{owner} in {value}", "It opened in {value}.",
                ("The {owner} was opened in {value}.", "In {value}, the {owner} opened.",
                 "The year in which the {owner} opened is {value}."),
                "When did the {owner} open? It opened in {value}.",
            ),
        ),
    ),
    Domain(
        "Visitor",
        ("adults", "children", "students", "pensioners", "members"),
        "The aquarium sells its tickets to {owner} at the west gate.",
        (
            Attribute(
                "Ticket price", ("12 euros", "5 euros", "8 euros", "9 euros", "3 euros"),
                ("Tickets cost {value} for {owner}.", "{owner} pay {value} at the gate.",
                 "The entrance fee for {owner} is {value}."),
                "{value} for {owner}", "They pay {value} for a ticket.",
                ("A ticket for {owner} costs {value}.", "{owner} pay {value}.",
                 "The price for {owner} is {value}."),
                "What do {owner} pay? They pay {value}.",
            ),
        ),
    ),
    Domain(
        "Player",
        ("Ana Lindqvist", "Bo Sundgren", "Mira Castell", "Tomas Vrba", "Ines Okoro"),
        "{owner} joined the league three seasons ago.",
        (
            Attribute(
                "Points", ("1,930", "2,370", "1,204", "856", "1,511"),
                ("{owner} scored {value} points.",
                 "{owner} finished the season with {value} points.",
                 "A total of {value} points were scored by {owner}."),
                "{owner} {value}", "She ended the season with {value} points.",
                ("{owner} scored {value} points.", "{owner} had {value} points.",
                 "{value} points were scored by {owner}."),
                "How many points did {owner} score? {owner} scored {value} points.",
            ),
            Attribute(
                "Assists", ("486", "700", "312", "95", "228"),
                ("{owner} made {value} assists.", "{owner} is credited with {value} assists.",
                 "The coach counted {value} assists by {owner}."),
                "{owner} {value}", "He made {value} assists.",
                ("{owner} made {value} assists.", "{owner} had {value} assists.",
                 "The number of assists by {owner} is {value}."),
                "How many assists did {owner} make? {owner} made {value} assists.",
            ),
        ),
    ),
    Domain(
        "Plan",
        ("the Basic plan", "the Plus plan", "the Team plan", "the Premium plan", "the Campus plan"),
        "{owner} can be cancelled at any time.",
        (
            Attribute(
                "Monthly fee", ("$9", "$19", "$49", "$79", "$4"),
                ("{owner} costs {value} per month.", "Customers pay {value} a month for {owner}.",
                 "The monthly fee of {owner} is {value}."),
                "{owner} costs {value}", "It costs {value} per month.",
                ("{owner} costs {value} per month.", "The monthly fee for {owner} is {value}.",
                 "Per month, {owner} costs {value}."),
                "What does {owner} cost? It costs {value} per month.",
            ),
            Attribute(
                "Storage", ("50 GB", "200 GB", "1,000 GB", "500 GB", "20 GB"),
                ("{owner} includes {value} of storage.",
                 "With {owner} users get {value} of storage.",
                 "{owner} comes with {value} of storage."),
                "{owner} {value}", "It includes {value} of storage.",
                ("{owner} includes {value} of storage.", "{owner} has {value} of storage.",
                 "The storage of {owner} is {value}."),
                "How much storage does {owner} include? It includes {value} of storage.",
            ),
        ),
    ),
    Domain(
        "Bridge",
        ("Miller Bridge", "Abbey Bridge", "Ropewalk Bridge", "Station Bridge", "Salt Bridge"),
        "{owner} crosses the river below the weir.",
        (
            Attribute(
                "Designer",
                ("Anna Berg", "Carl Holm", "Petra Novak", "Luis Moreau", "Edith Kwan"),
                ("{owner} was designed by {value}.", "{owner} was drawn by {value}.",
                 "The city had {owner} designed by {value}."),
                "{owner} by {value}", "It was designed by {value}.",
                ("{owner} was designed by {value}.", "{value} designed {owner}.",
                 "The designer of {owner} is {value}."),
                "Who designed {owner}? It was designed by {value}.",
            ),
            Attribute(
                "Inaugurated",
                ("3 May 1931", "7 June 1940", "21 March 1968", "9 October 1987", "14 July 2004"),
                ("{owner} was inaugurated on {value}.", "The mayor inaugurated {owner} on {value}.",
                 "On {value} {owner} was inaugurated."),
                "{owner} on {value}", "It was inaugurated on {value}.",
                ("{owner} was inaugurated on {value}.",
                 "The inauguration of {owner} was on {value}.",
                 "On {value}, {owner} was inaugurated."),
                "When was {owner} inaugurated? It was inaugurated on {value}.",
            ),
        ),
    ),
    Domain(
        "Region",
        ("the northern region", "the southern region", "the eastern region", "the western region",
         "the coastal region"),
        "{owner} is managed from an office of its own.",
        (
            Attribute(
                "Growth", ("4%", "11%", "7.5%", "2%", "16%"),
                ("Sales in {owner} grew by {value}.", "{owner} reported growth of {value}.",
                 "Revenue in {owner} rose {value} over the year."),
                "those in {owner} by {value}", "Sales there grew by {value}.",
                ("Sales in {owner} grew by {value}.", "In {owner}, sales grew {value}.",
                 "The growth of sales in {owner} was {value}."),
                "How much did sales in {owner} grow? They grew by {value}.",
            ),
            Attribute(
                "Staff", ("45", "230", "118", "76", "310"),
                ("{owner} employs {value} people.", "In {owner} {value} people work for the firm.",
                 "The firm has {value} people in {owner}."),
                "{owner} {value}", "It employs {value} people.",
                ("{owner} employs {value} people.", "The firm employs {value} people in {owner}.",
                 "In {owner}, {value} people are employed."),
                "How many people does {owner} employ? It employs {value} people.",
            ),
        ),
    ),
)  # fmt: skip

_FILLER = (
    "The {noun} committee met {count} times last winter and kept short minutes.",
    "Nobody at the {noun} office remembers why the doors were painted green.",
    "A local paper wrote about the {noun} festival, which drew a friendly crowd.",
    "Rain is common in autumn, so the {noun} path is often closed for repairs.",
    "The {noun} archive keeps letters, maps and {count} boxes of photographs.",
    "Volunteers look after the {noun} garden and meet on the first Saturday.",
    "In the {noun} library, silence is asked for but seldom kept.",
    "The old {noun} mill has been a bakery, a school and a store for bicycles.",
    "Some say that the {noun} market was livelier before the tram came.",
    "Plans for a {noun} museum were dropped when the council changed.",
)
_NOUNS = (
    "harbour", "valley", "quarry", "meadow", "station", "orchard", "chapel", "canal", "forest",
    "village", "castle", "island", "railway", "brewery",
)  # fmt: skip


def make_pairs(count: int, seed: int = 17) -> list[Pair]:
    """Return pairs in which shapes, domains and wordings take turns; the same for every run."""
    random = Random(seed)
    return [_make_pair(SHAPES[number % len(SHAPES)], random) for number in range(count)]


def _make_pair(shape: str, random: Random) -> Pair:
    domain = random.choice(DOMAINS)
    attribute = random.choice(domain.attributes)
    size = 2 if shape in ("one sentence", "sentences with pronouns") else random.randint(2, 5)
    owners = random.sample(domain.owners, size)
    values = {other.name: random.sample(other.values, size) for other in domain.attributes}
    asked, other = random.sample(range(size), 2)
    told = values[attribute.name]
    write = _WRITERS.get(shape, _write_sentences)
    wording = attribute.question if shape == "question" else random.choice(attribute.claims)
    return Pair(
        shape,
        write(domain, attribute, owners, values, random),
        _fill(wording, owners[asked], told[asked]),
        _fill(wording, owners[asked], told[other]),
    )


def _fill(wording: str, owner: str, value: str) -> str:
    """Return a sentence with owner and value; “the the” and small first letters are corrected."""
    text = wording.format(owner=owner, value=value)
    text = text.replace("The the ", "The ").replace("the the ", "the ")
    return text[0].upper() + text[1:]


Values = dict[str, list[str]]
Writer = Callable[[Domain, Attribute, list[str], Values, Random], str]


def _write_one(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    told = values[attribute.name]
    joint = random.choice((" and ", ", while ", ", and "))
    first = _fill(attribute.prose[0], owners[0], told[0]).rstrip(".")
    second = attribute.clause.format(owner=owners[1], value=told[1])
    return f"{first}{joint}{second}."


def _write_sentences(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    sentences = [
        _fill(random.choice(other.prose), owner, values[other.name][number])
        for number, owner in enumerate(owners)
        for other in domain.attributes
    ]
    return " ".join(sentences)


def _write_pronouns(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    return " ".join(
        _fill(domain.opening, owner, "") + " " + attribute.pronoun.format(value=value)
        for owner, value in zip(owners, values[attribute.name], strict=True)
    )


def _write_long(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    passage = _write_sentences(domain, attribute, owners, values, random)
    filler: list[str] = []
    while sum(len(sentence.split()) for sentence in filler) < LONG:
        noun, number = random.choice(_NOUNS), random.randint(2, 60)
        filler.append(random.choice(_FILLER).format(noun=noun, count=number))
    at = random.randrange(len(filler))
    return "\n\n".join((" ".join(filler[:at]), passage, " ".join(filler[at:])))


def _write_list(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    lines = []
    for number, owner in enumerate(owners):
        told = (f"{a.name.lower()} {values[a.name][number]}" for a in domain.attributes)
        lines.append(f"- {_capital(owner)}: {', '.join(told)}")
    return "\n".join(lines) + "\n"


def _write_nested(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    lines = []
    for number, owner in enumerate(owners):
        lines.append(f"- {_capital(owner)}")
        lines += (f"  - {a.name}: {values[a.name][number]}" for a in domain.attributes)
    return "\n".join(lines) + "\n"


def _list_rows(domain: Domain, owners: list[str], values: Values) -> list[list[str]]:
    head = [domain.owner, *(attribute.name for attribute in domain.attributes)]
    return [head] + [
        [_capital(owner), *(values[a.name][number] for a in domain.attributes)]
        for number, owner in enumerate(owners)
    ]


def _write_table(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    rows = [f"| {' | '.join(row)} |" for row in _list_rows(domain, owners, values)]
    border = "|" + "---|" * (len(domain.attributes) + 1)
    return "\n".join((rows[0], border, *rows[1:])) + "\n"


def _write_csv(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    rows = _list_rows(domain, owners, values)
    return "".join(",".join(cell.replace(",", "") for cell in row) + "\n" for row in rows)


def _write_json(
    domain: Domain, attribute: Attribute, owners: list[str], values: Values, random: Random
) -> str:
    rows = _list_rows(domain, owners, values)
    keys = [name.lower().replace(" ", "_") for name in rows[0]]
    indent = random.choice((None, 2))
    return json.dumps([dict(zip(keys, row, strict=True)) for row in rows[1:]], indent=indent)


def _capital(owner: str) -> str:
    owner = owner.removeprefix("the ")
    return owner[0].upper() + owner[1:]


_WRITERS: dict[str, Writer] = {
    "one sentence": _write_one,
    "sentences with pronouns": _write_pronouns,
    "long prose": _write_long,
    "list": _write_list,
    "nested list": _write_nested,
    "Markdown table": _write_table,
    "CSV": _write_csv,
    "JSON": _write_json,
}
