"""Cheap evidence for and against a claim: words, numbers, dates, names, negation.

A claim of several sentences is weighed sentence by sentence. Each part is linked to its digest of
the sources and gives one row of numbers, in the order of ``FEATURES``; the encoder adds its own.
The training scripts call these very functions, so the product and the fit can't drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from claimwise.text.sentences import find_sentences
from claimwise.types.rows import Source
from claimwise.verify.facts import (
    Facts,
    Quantity,
    find_facts,
    opposites_of,
    same_day,
    same_quantity,
)
from claimwise.verify.link import SourceIndex
from claimwise.verify.words import Word, is_common, read_words

FEATURES = (
    "recall",  # share of the part's content words that occur anywhere in the sources
    "digest_recall",  # share found in the digest
    "best_recall",  # share found in the best sentence
    "pairs_recall",  # share of neighbouring word pairs found in the digest
    "numbers_missing",  # numbers and dates that the digest does not give
    "numbers_found",
    "numbers_nowhere",  # ... nor any other sentence of the sources
    "names_missing",  # names with a word that the sources never use
    "negation_differs",  # one negated, the other not, where the words mostly agree
    "opposites",  # words whose opposite stands in the best sentence
)


# Without one of these inside, a claim is a single sentence; most are.
_INNER_STOP = re.compile(r"[^\w\s,'’\-–%$€£:;()“”\"/]\s*\S|\n")


@dataclass(frozen=True, slots=True)
class Part:
    """One sentence of a claim with what it was linked to."""

    text: str
    words: tuple[Word, ...]
    ranked: tuple[int, ...]
    digest: tuple[int, ...]
    features: tuple[float, ...]


class EvidenceIndex(SourceIndex):
    """A source index that remembers the facts of the sentences that were looked at."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources)
        self._facts: dict[int, Facts] = {}

    def facts_of(self, position: int) -> Facts:
        """Return a sentence's facts."""
        facts = self._facts.get(position)
        if facts is None:
            facts = self._facts[position] = find_facts(self.text_of(position))
        return facts

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number of the sources, as stems."""
        return frozenset(stem for stem in self._postings if stem[:1].isdigit())


def split_parts(claim: str) -> list[str]:
    """Return the sentences of a claim; scraps of fewer than three words join the one before."""
    if not _INNER_STOP.search(claim):
        return [claim]
    parts: list[str] = []
    for start, end in find_sentences(claim):
        text = claim[start:end]
        if parts and len(text.split()) < 3:
            parts[-1] = f"{parts[-1]} {text}"
        else:
            parts.append(text)
    return parts or [claim]


def weigh_part(text: str, index: EvidenceIndex) -> Part:
    """Link one sentence of a claim to the sources and weigh the cheap evidence."""
    words = tuple(read_words(text))
    ranked = tuple(index.rank([word.stem for word in words]))
    digest = tuple(index.choose(ranked))
    content = [word.stem for word in words if not is_common(word.stem)]
    digest_stems = frozenset().union(*(index.sentences[p].stem_set for p in digest))
    best_stems = index.sentences[ranked[0]].stem_set if ranked else frozenset()
    features = (
        *_weigh_words(content, index, digest_stems, best_stems),
        _weigh_pairs(words, index, digest),
        *_weigh_facts(find_facts(text), index, digest, ranked, content, best_stems),
        sum(1.0 for stem in content if stem not in best_stems and opposites_of(stem) & best_stems),
    )
    return Part(text, words, ranked, digest, features)


def _weigh_words(
    content: Sequence[str], index: EvidenceIndex, digest: frozenset[str], best: frozenset[str]
) -> tuple[float, float, float]:
    if not content:
        return 0.0, 0.0, 0.0
    return (
        sum(map(index.holds, content)) / len(content),
        sum(stem in digest for stem in content) / len(content),
        sum(stem in best for stem in content) / len(content),
    )


def _weigh_pairs(words: Sequence[Word], index: EvidenceIndex, digest: Sequence[int]) -> float:
    """Return the share of the part's neighbouring words that are neighbours in the digest too."""
    wanted = set(pairwise(word.stem for word in words))
    if not wanted:
        return 0.0
    found = set().union(*(wanted & index.sentences[position].pairs for position in digest))
    return len(found) / len(wanted)


def _weigh_facts(
    claimed: Facts,
    index: EvidenceIndex,
    digest: Sequence[int],
    ranked: Sequence[int],
    content: Sequence[str],
    best: frozenset[str],
) -> tuple[float, float, float, float, float]:
    given = [index.facts_of(position) for position in digest]
    found = missing = nowhere = 0
    for quantity in claimed.quantities:
        if any(_gives(facts, quantity) for facts in given):
            found += 1
        else:
            missing += 1
            nowhere += not _occurs(quantity, index)
    for day in claimed.days:
        if any(same_day(day, other) for facts in given for other in facts.days):
            found += 1
        else:
            missing += 1
    unknown = sum(not all(map(index.holds, name.stems)) for name in claimed.names)
    agree = sum(stem in best for stem in content) / len(content) if content else 0.0
    negated = bool(claimed.negations) != bool(given and index.facts_of(ranked[0]).negations)
    return (
        float(missing),
        float(found),
        float(nowhere),
        float(unknown),
        float(negated and agree > 0.5),
    )


def _gives(facts: Facts, quantity: Quantity) -> bool:
    """Tell whether a sentence gives a number; a full date gives its year."""
    if quantity.what == "year" and any(day.year == quantity.value for day in facts.days):
        return True
    return any(same_quantity(quantity, other) for other in facts.quantities)


def _occurs(quantity: Quantity, index: EvidenceIndex) -> bool:
    plain = f"{quantity.value:.10g}"
    return plain in index.numbers or any(
        word.stem in index.numbers for word in read_words(quantity.text) if word.stem[0].isdigit()
    )
