"""Answers for judges whose truth is known: eight sentences of a visitor guide, each with a figure.

A source says all of it, with the right figures, among other sentences (about 210 words). A claim
is false where the answer has another figure than the source. Every answer is about a town of its
own, so that nothing that was remembered of an earlier one can help. Imports nothing but the
standard library: the mock model and the rivals use it in other environments.
"""

from __future__ import annotations

import random
from typing import NamedTuple

CLAIMS = 8
_TRUE_SHARE = 0.75
_FACTS = (
    "The town hall of {town} was rebuilt in {figure}.",
    "The old bridge in {town} is {figure} metres long.",
    "The museum of {town} shows {figure} paintings by local artists.",
    "A day ticket for the trams of {town} costs {figure} cents.",
    "The botanical garden of {town} keeps {figure} kinds of orchids.",
    "The annual book fair in {town} drew {figure} visitors last year.",
    "The observatory above {town} stands at {figure} metres.",
    "The public library of {town} lends {figure} titles in Braille.",
)
_OTHERS = (
    "Visitors to {town} usually arrive by train from the coast.",
    "The market square of {town} is closed to cars on weekends.",
    "Guided walks through {town} start at the fountain every morning.",
    "The bakeries near the station of {town} open before sunrise.",
    "Winter in {town} is mild, with a little snow on the hills.",
    "The river below {town} carries barges with timber and stone.",
    "Several schools in {town} teach three languages from the first year.",
    "The council of {town} meets on the second floor of the new annex.",
)
_SYLLABLES = [first + last for first in "bdfgklmnprstvz" for last in "aeiou"]


class Case(NamedTuple):
    """An answer, what it rests on, and which of its claims are true."""

    question: str
    answer: str
    source: str
    truth: tuple[bool, ...]


def make_judge_cases(size: int, *, seed: int = 0) -> list[Case]:
    """Return answers. One in three is bad: half of its claims are false, of the others few."""
    rng = random.Random(seed)
    return [_make_case(rng, number) for number in range(size)]


def _make_case(rng: random.Random, number: int) -> Case:
    bad = number % 3 == 0
    share = 0.5 if bad else (3 * _TRUE_SHARE - 0.5) / 2
    town = "".join(rng.choice(_SYLLABLES) for _ in range(4)).capitalize()
    figures = [rng.randrange(120, 1990) for _ in _FACTS]
    truth = tuple(rng.random() < share for _ in _FACTS)
    said = [figure if true else figure + 7 for figure, true in zip(figures, truth, strict=True)]
    lines = zip(_FACTS, _OTHERS, figures, strict=True)
    source = " ".join(
        f"{fact.format(town=town, figure=figure)} {other.format(town=town)}"
        for fact, other, figure in lines
    )
    told = (fact.format(town=town, figure=f) for fact, f in zip(_FACTS, said, strict=True))
    return Case(f"What is there to see in {town}?", " ".join(told), _lengthen(source), truth)


def _lengthen(source: str) -> str:
    """Return the source with a preface, as pages have one."""
    preface = (
        "This guide is kept up by volunteers. It is printed once a year and handed out for free. "
        "Corrections are welcome at the tourist office, where a copy of each edition since the "
        "first is on show. Opening hours may change on public holidays. "
    )
    return preface + source


def is_true(claim: str, facts: dict[str, str]) -> bool | None:
    """Tell whether a claim has the figure of the fact that it is about; None: about none."""
    fact = facts.get(strip_figures(claim))
    return None if fact is None else fact.rstrip(".") == claim.rstrip(".")


def strip_figures(text: str) -> str:
    """Return a sentence without its figures and its stop: what it is about."""
    return "".join(c for c in text if not c.isdigit()).rstrip(".").strip()
