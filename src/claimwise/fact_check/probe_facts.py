"""Sentences to try a closed-book judge on: about what does not exist, and about what all know.

Names are put together from syllables that no one language shares, so that meeting a real one is
very unlikely. The sentences around them are plain and specific: they sound as true as any, and
nobody can know them. The controls show the other failure, a judge that calls everything
unverifiable.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from importlib.resources import files
from random import Random

from claimwise.types.closed_book import ProbeClaim


def make_probe(made_up: int, seed: int) -> list[ProbeClaim]:
    """Return so many made-up claims and all controls, shuffled; the same for the same seed."""
    random = Random(seed)  # noqa: S311 - a seed must give the same sentences, not secret ones
    claims = [*_make_claims(made_up, random), *read_controls()]
    random.shuffle(claims)
    return claims


def read_controls() -> list[ProbeClaim]:
    """Return the well-known facts and the plain falsehoods that come with claimwise."""
    controls = _read_sections("probe_controls.txt")
    return [
        *(ProbeClaim(text=text, kind="known_true") for text in controls["true"]),
        *(ProbeClaim(text=text, kind="known_false") for text in controls["false"]),
    ]


def _make_claims(count: int, random: Random) -> Iterator[ProbeClaim]:
    """Yield made-up claims, the kinds in turn; no name comes twice."""
    kinds: tuple[Callable[[str, Random], str], ...] = (_person, _place, _drug, _statute, _event)
    used: set[str] = set()
    while len(used) < count:
        middles = "".join(random.sample(_list("middle"), random.choice((1, 2))))
        name = _draw("head", random) + middles + _draw("tail", random)
        if name not in used:
            yield ProbeClaim(text=kinds[len(used) % len(kinds)](name, random), kind="made_up")
            used.add(name)


def _person(name: str, random: Random) -> str:
    born = random.randint(1740, 1930)
    return f"{_draw('first', random)} {name} was a {_draw('trade', random)} born in {born}."


def _place(name: str, random: Random) -> str:
    people = random.randint(3, 90) * 1000
    return f"The town of {name} in {_draw('country', random)} has about {people:,} inhabitants."


def _drug(name: str, random: Random) -> str:
    return f"{name}{_draw('drug', random)} is a drug for {_draw('condition', random)}."


def _statute(name: str, random: Random) -> str:
    year = random.randint(1790, 1990)
    return f"The {name} Act of {year} regulated {_draw('matter', random)}."


def _event(name: str, random: Random) -> str:
    year = random.randint(1200, 1890)
    return f"The {_draw('event', random)} of {name} took place in {year}."


def _draw(section: str, random: Random) -> str:
    return random.choice(_list(section))


@cache
def _list(section: str) -> list[str]:
    [line] = _read_sections("probe_words.txt")[section]
    return line.split("|")


@cache
def _read_sections(name: str) -> dict[str, list[str]]:
    """Return the lines of a file's sections, without comments and empty ones."""
    found: dict[str, list[str]] = defaultdict(list)
    section = ""
    text = (files("claimwise.judges") / "data" / name).read_text("utf-8")
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            found[section].append(line)
    return found
