"""Cheap evidence for and against a claim: words, numbers, dates, names, negation.

A claim of several sentences is weighed sentence by sentence. Each part is linked to its digest of
the sources and gives one row of numbers, in the order of ``FEATURES``; the encoder adds its own.
The training scripts call these very functions, so the product and the fit can't drift apart.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from claimwise.judges.facts import Facts, Name, Quantity, same_day, same_quantity
from claimwise.judges.holders import Holder, hold_cell, list_holders
from claimwise.judges.lazy import lazy
from claimwise.judges.link import SourceIndex
from claimwise.judges.reading import Term, TextFacts
from claimwise.text.sentences import find_sentences
from claimwise.text.words import SPACED_NUMBER, is_common, read_stems
from claimwise.types.rows import Source

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

DIGEST_RECALL = FEATURES.index("digest_recall")
_NEARLY_ALL = 0.8

# “[2]”, “[1, 3]”: where a claim is cited from, not what it says.
_CITATION_MARK = re.compile(r" ?\[[1-9]\d{0,2}(?: ?[,–-] ?\d{1,3})*\](?![\w(])")
_GROUPED_NUMBER = re.compile(
    rf"(?<![\w.,])(?:\d{{1,3}}(?:,\d{{3}})+|{SPACED_NUMBER}|\d{{4,}})(?![\w,]|\.\d)"
)
_SEPARATOR = re.compile(r"[,\s]")
# Without one of these inside, a claim is a single sentence; most are.
_INNER_STOP = re.compile(r"[^\w\s,'’\-–%$€£:;()“”\"/]\s*\S|\n")


@dataclass(frozen=True, slots=True)
class LinkedSentence:
    """One sentence of a claim with what it was linked to."""

    reading: TextFacts
    ranked: tuple[int, ...]
    digest: tuple[int, ...]
    features: tuple[float, ...]

    @property
    def text(self) -> str:
        """Its text."""
        return self.reading.text


class EvidenceIndex(SourceIndex):
    """A source index that also knows the sources' numbers, and what their values belong to."""

    def __init__(self, sources: Sequence[Source]) -> None:
        super().__init__(sources)
        self._holders: dict[tuple[int, bool], list[Holder]] = {}
        self._terms: dict[str, tuple[Term, ...]] = {}  # rows have their attributes in common

    def hold_values(self, position: int, *, names: bool = False) -> list[Holder]:
        """Return the numbers and dates of a sentence, or its names, with what they belong to."""
        found = self._holders.get((position, names))
        if found is None:
            told = self.sentences[position]
            if told.record is None:
                found = list_holders(told, position, names=names)
            else:
                found = [
                    held
                    for cell in told.record.cells
                    for held in hold_cell(cell, position, self._terms)
                    if isinstance(held.value, Name) == names
                ]
            self._holders[position, names] = found
        return found

    def read_around(self, part: LinkedSentence) -> Sequence[int]:
        """Return the sentences that the encoder reads for a part of a claim.

        Where the digest already holds nearly all of its words, their neighbours would cost time
        and tell nothing more.
        """
        if part.features[DIGEST_RECALL] >= _NEARLY_ALL and not self.is_short:
            return part.digest
        return self.read_passage(part.ranked, part.digest)

    def pair_up(self, part: LinkedSentence) -> tuple[str, str]:
        """Return the passage and the claim that the encoder reads for a part of a claim."""
        passage = self.join(self.read_around(part))
        return passage, write_numbers_alike(part.text, passage)

    @lazy
    def numbers(self) -> frozenset[str]:
        """Every number of the sources, as stems."""
        return frozenset(stem for stem in self._postings if stem[:1].isdigit())


def write_numbers_alike(claim: str, passage: str) -> str:
    """Return a claim with its large numbers grouped as in the passage: “1930” as “1,930”, or back.

    To the encoder the two spellings are two numbers.
    """
    found = (match.group() for match in _GROUPED_NUMBER.finditer(passage))
    told = {_SEPARATOR.sub("", number): number for number in found}

    def respell(match: re.Match[str]) -> str:
        number = match.group()
        return number if number in passage else told.get(_SEPARATOR.sub("", number), number)

    return _GROUPED_NUMBER.sub(respell, claim)


def split_parts(claim: str) -> list[str]:
    """Return the sentences of a claim, without citation marks.

    Scraps of fewer than three words join the sentence before. So does what follows a question: the
    question says what its answer is about.
    """
    if "[" in claim:
        claim = _CITATION_MARK.sub("", claim)
    if not _INNER_STOP.search(claim):
        return [claim]
    parts: list[str] = []
    for start, end in find_sentences(claim):
        text = claim[start:end]
        if parts and (len(text.split()) < 3 or parts[-1].endswith("?")):
            parts[-1] = f"{parts[-1]} {text}"
        else:
            parts.append(text)
    return parts or [claim]


def weigh_part(text: str, index: EvidenceIndex) -> LinkedSentence:
    """Link one sentence of a claim to the sources and weigh the cheap evidence."""
    claim = TextFacts(text)
    ranked = tuple(index.rank(claim.stems))
    digest = tuple(index.choose(ranked))
    content = [stem for stem in claim.stems if not is_common(stem)]
    digest_stems = frozenset().union(*(index.sentences[p].stem_set for p in digest))
    best = index.sentences[ranked[0]] if ranked else None
    best_stems = best.stem_set if best else frozenset()
    recalls = _weigh_words(content, index, digest_stems, best_stems)
    given = [index.sentences[p] for p in sorted(digest, key=ranked.index)]
    close = best if recalls[-1] > 0.5 else None
    features = (
        *recalls,
        _weigh_pairs(claim.stems, index, digest),
        *_weigh_figures(claim, index, given),
        sum(1.0 for name in claim.names if not all(map(index.holds, name.stems))),
        float(close is not None and bool(claim.negations) != bool(close.negations)),
        _count_opposites(claim, best_stems),
    )
    return LinkedSentence(claim, ranked, digest, features)


def _weigh_words(
    content: Sequence[str], index: EvidenceIndex, digest: frozenset[str], best: frozenset[str]
) -> tuple[float, float, float]:
    if not content:
        return 0.0, 0.0, 0.0
    return (
        sum(map(index.holds, content)) / len(content),
        sum(map(digest.__contains__, content)) / len(content),
        sum(map(best.__contains__, content)) / len(content),
    )


def _weigh_pairs(stems: Sequence[str], index: EvidenceIndex, digest: Sequence[int]) -> float:
    """Return the share of the part's neighbouring words that are neighbours in the digest too."""
    wanted = set(pairwise(stems))
    if not wanted:
        return 0.0
    found: set[tuple[str, str]] = set()
    for position in digest:
        found.update(wanted.intersection(pairwise(index.sentences[position].stems)))
    return len(found) / len(wanted)


def _weigh_figures(
    claimed: Facts, index: EvidenceIndex, given: Sequence[Facts]
) -> tuple[float, float, float]:
    """Return how many numbers and dates the digest lacks, gives, and no sentence has at all.

    Its sentences come best first: the first that gives a number is often the only one read.
    """
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
    return float(missing), float(found), float(nowhere)


def _count_opposites(claim: TextFacts, best: frozenset[str]) -> float:
    missed = (claim.stems[place] for place, rivals in claim.opposites if rivals & best)
    return sum(1.0 for stem in missed if stem not in best and not is_common(stem))


def _gives(facts: Facts, quantity: Quantity) -> bool:
    """Tell whether a sentence gives a number; a full date gives its year."""
    if quantity.what == "year" and any(day.year == quantity.value for day in facts.days):
        return True
    return any(same_quantity(quantity, other) for other in facts.quantities)


def _occurs(quantity: Quantity, index: EvidenceIndex) -> bool:
    plain = f"{quantity.value:.10g}"
    return plain in index.numbers or any(
        stem in index.numbers for stem in read_stems(quantity.text) if stem[0].isdigit()
    )
