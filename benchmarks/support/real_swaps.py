"""Claims that people call supported, each with a twin in which one value is another of the source.

A number is exchanged for another number of the same look, a name for another name, or two of a
claim's own change places. Nobody checked the twins: now and then one is still true (“in Detroit”
for “to the Tigers”), so no judge can reject them all.
"""

from __future__ import annotations

import json
import lzma
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

from claimwise.bench.labelled import find_sets
from support.swap_cases import Pair

SETS = (
    "aggrefact_cliff_goyal", "attributionbench", "averitec", "bump", "summedits", "wice",
    "wikibio_gpt3",
)  # fmt: skip
LONGEST = 400  # characters of a claim
_MARK = re.compile(r" ?\[\d+\]")
_NUMBER = re.compile(r"(?<![\w.,])\d[\d,.]*\d(?!\w)|(?<![\w.,])\d(?![\w.,]\d|\w)")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?: (?:of |the |de )?[A-Z][a-z]+)*")


def make_real_pairs(folder: Path, most: int) -> list[Pair]:
    """Return up to so many pairs of each set, drawn with a fixed seed."""
    rng = Random(0)
    pairs: list[Pair] = []
    for name, path in find_sets(folder, list(SETS)).items():
        with lzma.open(path, "rt", encoding="utf-8") as lines:
            rows = [row for row in map(json.loads, lines) if row["label"] == 1]
        found = list(_swap_rows(name, rng.sample(rows, len(rows)), rng))
        pairs += found[:most]
    return pairs


def _swap_rows(name: str, rows: list[dict[str, Any]], rng: Random) -> Iterator[Pair]:
    for row in rows:
        claim = _MARK.sub("", row["claim"])
        ways = rng.sample((_swap_number, _swap_name, _swap_within), 3)
        swapped = next(filter(None, (way(claim, row["document"], rng) for way in ways)), None)
        if swapped is not None and len(claim) <= LONGEST:
            yield Pair(name, row["document"], claim, swapped)


def _swap_number(claim: str, text: str, rng: Random) -> str | None:
    found = list(_NUMBER.finditer(claim))
    if not found:
        return None
    chosen, own = rng.choice(found), {match[0] for match in found}
    others = sorted({
        n for n in _NUMBER.findall(text)
        if n not in own and len(n) == len(chosen[0]) and ("." in n) == ("." in chosen[0])
    })  # fmt: skip
    return _exchange(claim, chosen, rng.choice(others)) if others else None


def _swap_name(claim: str, text: str, rng: Random) -> str | None:
    found = list(_NAME.finditer(claim))
    if not found:
        return None
    chosen = rng.choice(found)
    words = set(chosen[0].split())
    others = sorted({
        n for n in _NAME.findall(text)
        if n not in claim and len(n.split()) == len(words) and not words & set(n.split())
    })  # fmt: skip
    return _exchange(claim, chosen, rng.choice(others)) if others else None


def _swap_within(claim: str, text: str, rng: Random) -> str | None:
    """Let two numbers or two names change places, unless they are joined by “and” or “or”."""
    for pattern in (_NUMBER, _NAME):
        found = list(pattern.finditer(claim))
        for one, other in pairwise(found):
            between = claim[one.end() : other.start()]
            joined = re.match(r",? (?:and|or)\b", between) or not re.search(r"[a-z]{3,}", between)
            if one[0] != other[0] and not joined:
                return claim[: one.start()] + other[0] + between + one[0] + claim[other.end() :]
    return None


def _exchange(text: str, match: re.Match[str], other: str) -> str:
    return text[: match.start()] + other + text[match.end() :]
