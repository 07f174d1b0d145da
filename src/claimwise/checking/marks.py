"""What citation markers stand for: “[2]” is the second of the texts that a system was given."""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec.structs import replace

from claimwise.types.verdicts import AnswerClaim, Mark

_SPOKEN = re.compile(
    r"\A(?:docs?|documents?|sources?|src|refs?|chunks?|passages?|contexts?|cite|citations?)"
    r"[ _:#-]+",
    re.IGNORECASE,
)


def bind_marks(claim: AnswerClaim, numbered: Sequence[str]) -> AnswerClaim:
    """Replace the numbers of citation markers by the documents they stand for."""
    if not claim.marks or not numbered:
        return claim
    return replace(claim, marks=tuple(_bind_mark(mark, numbered) for mark in claim.marks))


def _bind_mark(mark: Mark, numbered: Sequence[str]) -> Mark:
    for name in read_target(mark.target):
        if name in numbered:
            return replace(mark, target=name)
        if name.isdecimal() and 0 < int(name) <= len(numbered):
            return replace(mark, target=numbered[int(name) - 1])
    return mark


def read_target(target: str) -> list[str]:
    """Return what a marker may mean: its words, and without the “source:” before them."""
    bare = _SPOKEN.sub("", target)
    return [target, bare] if bare and bare != target else [target]
